// tests/goldens/product_f32.hlo: threads 128
__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void sett_product_f32_sum(__global const float *restrict p2, __global const float *restrict q0, __global float *restrict r0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint th_x = (uint)get_local_id(0);
  if (!(bl_x * 128 + th_x <= 799)) return;
  const uint position = bl_x * 128 + th_x;
  float total = 0;
  #pragma unroll
  for (uint part = 0; part < 2; ++part) total += q0[part * 800 + position];
  const float v_product = total;
  const float v_bias = p2[position % 40];
  const float v_sums = v_product + v_bias;
  const float v_y = maximum_f32(v_sums, 0.0f);
  r0[position] = v_y;
}
