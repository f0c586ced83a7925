// bench/full_sum_f32.hlo: flat, threads 1, 4 accumulators of 16, 4 streams, 32 parts, combined by a second kernel
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_full_sum_f32(__global const float *restrict p0, __global float *restrict q0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint part = bl_x;
  float16 a0[4];
  #pragma unroll
  for (uint vec = 0; vec < 4; ++vec) {
    a0[vec] = (float16)(0.0f);
  }
  {
    for (uint burst = 0; burst < 8192; burst += 4)
    #pragma unroll
    for (uint stream = 0; stream < 4; ++stream)
    {
      for (uint step = burst; step < burst + 4; ++step)
      {
        PREFETCH_L2(p0 + part * 524288 + step * 16 + stream * 131072 + 512);
      }
      for (uint step = burst; step < burst + 4; ++step)
      {
        const float16 v_x = *(const __global float16 *)(p0 + part * 524288 + step * 16 + stream * 131072);
        const float16 v_c = a0[stream] + v_x;
        a0[stream] = v_c;
      }
    }
  }
  // lanes to memory
  float x0[64];
  for (uint vec = 0; vec < 4; ++vec) {
    vstore16(a0[vec], 0, (x0 + vec * 16));
  }
  // the lanes of each column into one
  {
    float t0 = x0[0];
    for (uint at = 0 + 1; at < 64; at += 1) {
      const float v_c = t0 + x0[at];
      t0 = v_c;
    }
    {
      q0[part] = t0;
    }
  }
}
