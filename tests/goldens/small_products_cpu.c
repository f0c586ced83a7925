// tests/goldens/small_products_f32.hlo: threads 1, 448 products at once, rows in vectors of 4, totals in an array
/* to = a b: 3 rows of 3 columns, sums of 5 products; lanes of a vector beyond its row get elements of the next row */
static inline __attribute__((always_inline)) void sett_small_products_f32_product(const float *a, const float *b, float *to)
{
  float4 sum[3];
  UNROLL
  for (uint32_t i = 0; i < 3; ++i) sum[i] = splat_float4(0);
  UNROLL
  for (uint32_t k = 0; k < 5; ++k) {
    const float *const at = b + k * 3;
    const float4 row = k < 4 ? load_float4(at) : shift_float4_by_1(load_float4(at - 1));
    UNROLL
    for (uint32_t i = 0; i < 3; ++i) sum[i] = mad_f32_4(splat_float4(a[i * 5 + k]), row, sum[i]);
  }
  UNROLL
  for (uint32_t i = 0; i < 2; ++i) store_float4(sum[i], to + i * 3);
  store_float4(join_float4_3(sum[1], sum[2]), to + 5);
}

static void sett_small_products_f32(const float *restrict p0, const float *restrict p1, float *restrict r0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  const uint32_t block = bl_x;
  float total[4032];
  const uint32_t first = block * 448, end = (block < 1 ? block * 448 + 448 : 500);
  for (uint32_t batch = first; batch < end; ++batch) sett_small_products_f32_product(p0 + batch * 15, p1 + batch * 15, total + (batch - first) * 9);
  const float *from = total;
  for (uint32_t unit = block * 252; unit < (block < 1 ? block * 252 + 252 : 281); ++unit, from += 16) {
    const float16 v_product = load_float16(from);
    const float16 v_r = more_f32_16(splat_float16(0.0f), v_product);
    STORE(v_r, (float16 *)(r0 + unit * 16));
  }
  if (block == 1) for (uint32_t element = 4496; element < 4500; ++element, ++from) {
    const float v_product = *from;
    const float v_r = maximum_f32(v_product, 0.0f);
    r0[element] = v_r;
  }
}
