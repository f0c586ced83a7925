// tests/goldens/product_f32.hlo: threads 128
extern "C" __global__ __launch_bounds__(128) void sett_product_f32_sum(const float *__restrict__ p2, const float *__restrict__ q0, float *__restrict__ r0)
{
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  if (!(bl_x * 128 + th_x <= 799)) return;
  const unsigned position = bl_x * 128 + th_x;
  float total = 0;
  #pragma unroll
  for (unsigned part = 0; part < 2; ++part) total += q0[part * 800 + position];
  float v_product = total;
  float v_bias = p2[position % 40];
  float v_sums = v_product + v_bias;
  float v_y = maximum_f32(v_sums, 0.0f);
  r0[position] = v_y;
}
