// tests/goldens/small_products_f32.hlo: threads 1, 448 products at once, rows in vectors of 4, totals in an array
/* to = a b: 3 rows of 3 columns, sums of 5 products; lanes of a vector beyond its row get elements of the next row */
static inline __attribute__((always_inline)) void sett_small_products_f32_product(__global const float *a, __global const float *b, float *to)
{
  float4 sum[3];
  #pragma clang loop unroll(full)
  for (uint i = 0; i < 3; ++i) sum[i] = (float4)(0);
  #pragma clang loop unroll(full)
  for (uint k = 0; k < 5; ++k) {
    __global const float *const at = b + k * 3;
    const float4 row = k < 4 ? load_f32_4(at) : shift_float4_by_1(load_f32_4(at - 1));
    #pragma clang loop unroll(full)
    for (uint i = 0; i < 3; ++i) sum[i] = mad_f32_4((float4)(a[i * 5 + k]), row, sum[i]);
  }
  #pragma clang loop unroll(full)
  for (uint i = 0; i < 2; ++i) stage_f32_4(sum[i], to + i * 3);
  stage_f32_4(join_float4_3(sum[1], sum[2]), to + 5);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_small_products_f32(__global const float *restrict p0, __global const float *restrict p1, __global float *restrict r0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint block = bl_x;
  float total[4032];
  const uint first = block * 448, end = (block < 1 ? block * 448 + 448 : 500);
  for (uint batch = first; batch < end; ++batch) sett_small_products_f32_product(p0 + batch * 15, p1 + batch * 15, total + (batch - first) * 9);
  const float *from = total;
  for (uint unit = block * 252; unit < (block < 1 ? block * 252 + 252 : 281); ++unit, from += 16) {
    const float16 v_product = vload16(0, from);
    const float16 v_r = ((float16)(0.0f) > v_product) ? (float16)(0.0f) : v_product;
    STORE(v_r, (__global float16 *)(r0 + unit * 16));
  }
  if (block == 1) for (uint element = 4496; element < 4500; ++element, ++from) {
    const float v_product = *from;
    const float v_r = maximum_f32(v_product, 0.0f);
    r0[element] = v_r;
  }
}
