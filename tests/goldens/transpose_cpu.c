// tests/kernels/transpose_f32.hlo: threads 1, tiles 64, tile 16 x 32 in registers, prefetch 512 in each row where bursts are off, streamed
static void sett_transpose_f32(const float *restrict p0, float *restrict r0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  const uint32_t part = bl_x >> 6;
  const uint32_t g1 = bl_x & 63;
  for (uint32_t g0 = part * 64; g0 < part * 64 + 64; ++g0) {
    uint16 w_p0[32];
    load_u32_16x16_prefetch128(w_p0, (const uint32_t *)(p0 + g0 * 16 + g1 * 65536), 2048);
    load_u32_16x16_prefetch128(w_p0 + 16, (const uint32_t *)(p0 + g0 * 16 + g1 * 65536 + 32768), 2048);
    UNROLL
    for (uint32_t vec = 0; vec < 16; ++vec) {
      UNROLL
      for (uint32_t down = 0; down < 2; ++down) {
        const float16 v_x = as_float16(w_p0[down * 16 + vec]);
        const float16 v_n = -v_x;
        STREAM(v_n, (float16 *)(r0 + g0 * 32768 + g1 * 32 + vec * 2048 + down * 16));
      }
    }
  }
}
