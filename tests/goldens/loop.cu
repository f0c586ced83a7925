// tests/kernels/add_f32.hlo: threads 128, chunks 1, vec 4
template <bool aligned> static __global__ __launch_bounds__(128) void sett_add_f32(const float *__restrict__ p0, const float *__restrict__ p1, float *__restrict__ r0)
{
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  union { uint4 word[1]; float at[4]; } w_p0;
  load_word<aligned>(w_p0.word[0], p0 + (th_x * 4 + bl_x * 512));
  union { uint4 word[1]; float at[4]; } w_p1;
  load_word<aligned>(w_p1.word[0], p1 + (th_x * 4 + bl_x * 512));
  union { uint4 word[1]; float at[4]; } w_r0;
  #pragma unroll
  for (unsigned vec = 0; vec < 4; ++vec) {
    float v_a = w_p0.at[vec];
    float v_b = w_p1.at[vec];
    float v_sum = v_a + v_b;
    w_r0.at[vec] = v_sum;
  }
  store_word<aligned>(w_r0.word[0], r0 + (th_x * 4 + bl_x * 512));
}
