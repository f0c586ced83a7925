// bench/concatenate_f32.hlo: 2 parts: (threads 1, chunks 64, vec 1, lanes 16, streams 4, streamed, prefetch 4096/0 in bursts of 8), (threads 1, chunks 64, vec 1, lanes 16, streams 4, streamed, prefetch 4096/0 in bursts of 8)
static void sett_concatenate_f32(const float *restrict p0, const float *restrict p1, float *restrict r0, size_t number)
{
  if (number < 1024) { // part 0
    const uint32_t bl_x = (uint32_t)number;
    for (uint32_t first = 0; first < 64; first += 8)
    for (uint32_t stream = 0; stream < 4; ++stream)
    {
      for (uint32_t chunk = first; chunk < first + 8; ++chunk) {
        PREFETCH_BURST_L2(p0 + bl_x * 1024 + stream * 1048576 + chunk * 16, 4096);
      }
      for (uint32_t chunk = first; chunk < first + 8; ++chunk) {
        const float16 v_a = *(const float16 *)(p0 + bl_x * 1024 + stream * 1048576 + chunk * 16);
        STREAM(v_a, (float16 *)(r0 + bl_x * 4096 + stream * 4194304 + chunk * 16));
      }
    }
  }
  else { // part 1
    const uint32_t bl_x = (uint32_t)number - 1024;
    for (uint32_t first = 0; first < 64; first += 8)
    for (uint32_t stream = 0; stream < 4; ++stream)
    {
      for (uint32_t chunk = first; chunk < first + 8; ++chunk) {
        PREFETCH_BURST_L2(p1 + bl_x * 1024 + stream * 3145728 + chunk * 16, 4096);
      }
      for (uint32_t chunk = first; chunk < first + 8; ++chunk) {
        const float16 v_b = *(const float16 *)(p1 + bl_x * 1024 + stream * 3145728 + chunk * 16);
        STREAM(v_b, (float16 *)(r0 + ((bl_x * 4 + 3) / 3) * 1024 + stream * 4194304 + chunk * 16));
      }
    }
  }
}
