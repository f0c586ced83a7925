// tests/kernels/row_sum_f32.hlo: threads 256: 4 rows x 64 to fold x 1 across, vec 4
template <bool aligned> static __global__ __launch_bounds__(256) void sett_row_sum_f32(const float *__restrict__ p0, float *__restrict__ r0)
{
  __shared__ float shared0[8];
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  const unsigned g0 = bl_x * 4 + (th_x >> 6);
  const unsigned f = th_x & 63;
  float a0[4];
  #pragma unroll
  for (unsigned vec = 0; vec < 4; ++vec) {
    a0[vec] = 0.0f;
  }
  // the thread's own steps
  {
    #pragma unroll
    for (unsigned step = 0; step < 4; ++step) {
      union { uint4 word[1]; float at[4]; } w_p0;
      load_word<aligned>(w_p0.word[0], p0 + (g0 * 1024 + f * 4 + step * 256));
      #pragma unroll
      for (unsigned vec = 0; vec < 4; ++vec) {
        float v_x = w_p0.at[vec];
        float v_sum = a0[vec] + v_x;
        a0[vec] = v_sum;
      }
    }
    #pragma unroll
    for (unsigned slot = 1; slot < 4; ++slot) {
      const float other0 = a0[slot];
      float v_sum = a0[0] + other0;
      a0[0] = v_sum;
    }
  }
  // fold the lanes of a warp by shuffles, then the warps through shared memory
  #pragma unroll
  for (unsigned distance = 16; distance >= 1; distance /= 2) {
    {
      const float other0 = __shfl_down_sync(0xffffffffu, a0[0], distance, 32);
      float v_sum = a0[0] + other0;
      a0[0] = v_sum;
    }
  }
  if ((th_x & 31) == 0) {
    {
      shared0[th_x >> 5] = a0[0];
    }
  }
  __syncthreads();
  if (f == 0) {
    #pragma unroll
    for (unsigned warp = 1; warp < 2; ++warp) {
      {
        const float other0 = shared0[(th_x >> 6) * 2 + warp];
        float v_sum = a0[0] + other0;
        a0[0] = v_sum;
      }
    }
    r0[g0] = a0[0];
  }
}
