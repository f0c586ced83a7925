// bench/cumsum_f32.hlo: scan of rows, threads 256, 1 rows a work-item, 4 x 1 elements a step
template <bool aligned> static __global__ __launch_bounds__(256, 1) void sett_cumsum_f32(const float *__restrict__ p0, float *__restrict__ r0)
{
  __shared__ float shared0[8];
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  float carry0 = 0.0f;
  for (unsigned step = 0; step < 4; ++step)
  {
    float x0[4];
    float l0 = 0.0f;
    {
      union { uint4 word[1]; float at[4]; } w_p0;
      load_word<aligned>(w_p0.word[0], p0 + (bl_x * 4096 + step * 1024 + 1020 - th_x * 4));
      #pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
        const unsigned vec = k;
        float v_x = w_p0.at[vec];
        x0[vec] = v_x;
        {
          float v_sum = l0 + x0[vec];
          x0[vec] = v_sum;
        }
        l0 = x0[vec];
      }
    }
      #pragma unroll
      for (unsigned by = 1; by < 32; by *= 2) {
        const float other0 = __shfl_down_sync(0xffffffffu, l0, by, 32);
        if (th_x % 32 + by < 32) {
          {
            float v_sum = other0 + l0;
            l0 = v_sum;
          }
        }
      }
      const float beside0 = __shfl_down_sync(0xffffffffu, l0, 1, 32);
      if (th_x % 32 == 0) shared0[th_x / 32] = l0;
      float before0 = carry0;
      __syncthreads();
      for (unsigned warp = 8; warp-- > 0;) {
        if (warp > th_x / 32) {
          {
            float v_sum = before0 + shared0[warp];
            before0 = v_sum;
          }
        }
        {
          float v_sum = carry0 + shared0[warp];
          carry0 = v_sum;
        }
      }
      if (th_x % 32 + 1 < 32) {
        {
          float v_sum = before0 + beside0;
          before0 = v_sum;
        }
      }
      __syncthreads();
    {
      union { uint4 word[1]; float at[4]; } w_r0;
      #pragma unroll
      for (unsigned k = 0; k < 4; ++k) {
        const unsigned vec = k;
        float v_sum = before0 + x0[vec];
        w_r0.at[vec] = v_sum;
      }
      store_word<aligned>(w_r0.word[0], r0 + (bl_x * 4096 + step * 1024 + 1020 - th_x * 4));
    }
  }
}
