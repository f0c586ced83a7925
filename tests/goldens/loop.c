// tests/kernels/add_f32.hlo: threads 1, chunks 64, vec 1, lanes 16, streams 4, streamed, prefetch 4096/0 in bursts of 8
static void sett_add_f32(const float *restrict p0, const float *restrict p1, float *restrict r0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  for (uint32_t first = 0; first < 64; first += 8)
  for (uint32_t stream = 0; stream < 4; ++stream)
  {
    for (uint32_t chunk = first; chunk < first + 8; ++chunk) {
      PREFETCH_BURST_L2(p0 + bl_x * 1024 + stream * 4194304 + chunk * 16, 4096);
    }
    for (uint32_t chunk = first; chunk < first + 8; ++chunk) {
      PREFETCH_BURST_L2(p1 + bl_x * 1024 + stream * 4194304 + chunk * 16, 4096);
    }
    for (uint32_t chunk = first; chunk < first + 8; ++chunk) {
      const float16 v_a = *(const float16 *)(p0 + bl_x * 1024 + stream * 4194304 + chunk * 16);
      const float16 v_b = *(const float16 *)(p1 + bl_x * 1024 + stream * 4194304 + chunk * 16);
      const float16 v_sum = v_a + v_b;
      STREAM(v_sum, (float16 *)(r0 + bl_x * 1024 + stream * 4194304 + chunk * 16));
    }
  }
}
