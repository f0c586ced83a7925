// bench/cumsum_f32.hlo: scan of rows, threads 256, 1 rows a work-item, 4 x 1 elements a step
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sett_cumsum_f32(__global const float *restrict p0, __global float *restrict r0)
{
  __local float shared0[256];
  const uint bl_x = (uint)get_group_id(0);
  const uint th_x = (uint)get_local_id(0);
  float carry0 = 0.0f;
  for (uint step = 0; step < 4; ++step)
  {
    float x0[4];
    float l0 = 0.0f;
    {
      union { uint4 word[1]; float at[4]; } w_p0;
      w_p0.word[0] = *(const __global uint4 *)(p0 + (bl_x * 4096 + step * 1024 + 1020 - th_x * 4));
      #pragma unroll
      for (uint k = 0; k < 4; ++k) {
        const uint vec = k;
        const float v_x = w_p0.at[vec];
        x0[vec] = v_x;
        {
          const float v_sum = l0 + x0[vec];
          x0[vec] = v_sum;
        }
        l0 = x0[vec];
      }
    }
      shared0[th_x] = l0;
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint by = 1; by < 256; by *= 2) {
        const float other0 = shared0[(th_x + by) % 256];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (th_x + by < 256) {
          {
            const float v_sum = other0 + l0;
            l0 = v_sum;
          }
        }
        shared0[th_x] = l0;
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      float before0 = carry0;
      if (th_x + 1 < 256) {
        {
          const float v_sum = before0 + shared0[th_x + 1];
          before0 = v_sum;
        }
      }
      {
        const float v_sum = carry0 + shared0[0];
        carry0 = v_sum;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    {
      union { uint4 word[1]; float at[4]; } w_r0;
      #pragma unroll
      for (uint k = 0; k < 4; ++k) {
        const uint vec = k;
        const float v_sum = before0 + x0[vec];
        w_r0.at[vec] = v_sum;
      }
      *(__global uint4 *)(r0 + (bl_x * 4096 + step * 1024 + 1020 - th_x * 4)) = w_r0.word[0];
    }
  }
}
