// bench/full_sum_f32.hlo: flat, threads 1, 4 accumulators of 16, 4 streams, 32 parts, combined by a second kernel
static void sett_full_sum_f32(const float *restrict p0, float *restrict q0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  const uint32_t part = bl_x;
  float16 sum0[4];
  UNROLL
  for (uint32_t vec = 0; vec < 4; ++vec) {
    sum0[vec] = splat_float16(0.0f);
  }
  // steps are added in groups of 64: the rounding error is smaller than that of one long sum
  for (uint32_t turn = 0; turn < 8192; turn += 64)
  {
    const uint32_t end = turn + 64;
    float16 a0[4];
    UNROLL
    for (uint32_t vec = 0; vec < 4; ++vec) {
      a0[vec] = splat_float16(0.0f);
    }
    for (uint32_t burst = turn; burst < end; burst += 4)
    UNROLL
    for (uint32_t stream = 0; stream < 4; ++stream)
    {
      for (uint32_t step = burst; step < burst + 4; ++step)
      {
        PREFETCH_SUM_L2(p0 + part * 524288 + step * 16 + stream * 131072, 2048);
      }
      for (uint32_t step = burst; step < burst + 4; ++step)
      {
        const float16 v_x = *(const float16 *)(p0 + part * 524288 + step * 16 + stream * 131072);
        const float16 v_c = a0[stream] + v_x;
        a0[stream] = v_c;
      }
    }
    UNROLL
    for (uint32_t vec = 0; vec < 4; ++vec) {
      const float16 v_c = sum0[vec] + a0[vec];
      sum0[vec] = v_c;
    }
  }
  // store the lanes
  float x0[64];
  for (uint32_t vec = 0; vec < 4; ++vec) {
    store_float16(sum0[vec], (x0 + vec * 16));
  }
  // fold pairs of lanes, until each column has one: the rounding error is smaller than lane after lane
  for (uint32_t count = 64; count > 1; count = (count + 1) / 2)
    for (uint32_t at = 0; at < count / 2; ++at) {
      const float v_c = x0[at] + x0[at + (count + 1) / 2];
      x0[at] = v_c;
    }
  {
    const float t0 = x0[0];
    {
      q0[part] = t0;
    }
  }
}
