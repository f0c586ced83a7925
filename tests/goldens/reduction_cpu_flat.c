// bench/full_sum_f32.hlo: flat, threads 1, 4 accumulators of 16, 4 streams, 32 parts, combined by a second kernel
static void sett_full_sum_f32(const float *restrict p0, float *restrict q0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  const uint32_t part = bl_x;
  float16 a0[4];
  UNROLL
  for (uint32_t vec = 0; vec < 4; ++vec) {
    a0[vec] = splat_float16(0.0f);
  }
  {
    for (uint32_t burst = 0; burst < 8192; burst += 4)
    UNROLL
    for (uint32_t stream = 0; stream < 4; ++stream)
    {
      for (uint32_t step = burst; step < burst + 4; ++step)
      {
        PREFETCH_L2(p0 + part * 524288 + step * 16 + stream * 131072, 2048);
      }
      for (uint32_t step = burst; step < burst + 4; ++step)
      {
        const float16 v_x = *(const float16 *)(p0 + part * 524288 + step * 16 + stream * 131072);
        const float16 v_c = a0[stream] + v_x;
        a0[stream] = v_c;
      }
    }
  }
  // lanes to memory
  float x0[64];
  for (uint32_t vec = 0; vec < 4; ++vec) {
    store_float16(a0[vec], (x0 + vec * 16));
  }
  // the lanes of each column into one
  {
    float t0 = x0[0];
    for (uint32_t at = 0 + 1; at < 64; at += 1) {
      const float v_c = t0 + x0[at];
      t0 = v_c;
    }
    {
      q0[part] = t0;
    }
  }
}
