// tests/kernels/row_sum_f32.hlo: rows, threads 1, 16 accumulators of 16, 4 streams, 16 rows folded together, 4 times
static void sett_row_sum_f32(const float *restrict p0, float *restrict r0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  const uint32_t chunk = bl_x;
  enum { SUMS = SHUFFLES == 32 ? 2 : 4 }; /* accumulators of a row */
  for (uint32_t block = chunk * 4; block < chunk * 4 + 4; ++block)
  {
    parts_float16 b0[64];
    for (uint32_t row = 0; row < 16; ++row) {
      parts_float16 a0[16];
      UNROLL
      for (uint32_t vec = 0; vec < 16; ++vec) {
        a0[vec] = parts_of_float16(splat_float16(0.0f));
      }
      {
        for (uint32_t step = 0; step < 16; ++step)
        UNROLL
        for (uint32_t stream = 0; stream < 4; ++stream)
        {
          {
            PREFETCH_SUM_L2(p0 + stream * 2097152 + block * 16384 + row * 1024 + step * 64, 2048);
            PREFETCH_SUM_L2(p0 + stream * 2097152 + block * 16384 + row * 1024 + step * 64, 2112);
            PREFETCH_SUM_L2(p0 + stream * 2097152 + block * 16384 + row * 1024 + step * 64, 2176);
            PREFETCH_SUM_L2(p0 + stream * 2097152 + block * 16384 + row * 1024 + step * 64, 2240);
          }
          {
            UNROLL
            for (uint32_t vec = 0; vec < 4; ++vec) {
              const float16 v_x = *(const float16 *)(p0 + stream * 2097152 + block * 16384 + row * 1024 + step * 64 + vec * 16);
              const float16 v_sum = whole_float16(a0[stream * SUMS + vec % SUMS]) + v_x;
              a0[stream * SUMS + vec % SUMS] = parts_of_float16(v_sum);
            }
          }
        }
      }
      // fold the row's vectors into one
      UNROLL
      for (uint32_t stream = 0; stream < 4; ++stream)
      {
        UNROLL
        for (uint32_t vec = 1; vec < SUMS; ++vec) {
          const float16 v_sum = whole_float16(a0[stream * SUMS]) + whole_float16(a0[stream * SUMS + vec]);
          a0[stream * SUMS] = parts_of_float16(v_sum);
        }
        b0[stream * 16 + row] = a0[stream * SUMS];
      }
    }
    // fold the lanes of 16 vectors into one vector
    for (uint32_t stream = 0; stream < 4; ++stream)
    {
      const parts_float16 *rows0 = b0 + stream * 16;
      float16 half8_0[8];
      UNROLL
      for (uint32_t vec = 0; vec < 8; ++vec) {
        const float16 even0 = even_f32(*(const float16 *)&rows0[2 * vec], *(const float16 *)&rows0[2 * vec + 1]);
        const float16 odd0 = odd_f32(*(const float16 *)&rows0[2 * vec], *(const float16 *)&rows0[2 * vec + 1]);
        const float16 v_sum = even0 + odd0;
        half8_0[vec] = v_sum;
      }
      float16 half4_0[4];
      UNROLL
      for (uint32_t vec = 0; vec < 4; ++vec) {
        const float16 even0 = even_f32(half8_0[2 * vec], half8_0[2 * vec + 1]);
        const float16 odd0 = odd_f32(half8_0[2 * vec], half8_0[2 * vec + 1]);
        const float16 v_sum = even0 + odd0;
        half4_0[vec] = v_sum;
      }
      float16 half2_0[2];
      UNROLL
      for (uint32_t vec = 0; vec < 2; ++vec) {
        const float16 even0 = even_f32(half4_0[2 * vec], half4_0[2 * vec + 1]);
        const float16 odd0 = odd_f32(half4_0[2 * vec], half4_0[2 * vec + 1]);
        const float16 v_sum = even0 + odd0;
        half2_0[vec] = v_sum;
      }
      float16 t0[1];
      UNROLL
      for (uint32_t vec = 0; vec < 1; ++vec) {
        const float16 even0 = even_f32(half2_0[2 * vec], half2_0[2 * vec + 1]);
        const float16 odd0 = odd_f32(half2_0[2 * vec], half2_0[2 * vec + 1]);
        const float16 v_sum = even0 + odd0;
        t0[vec] = v_sum;
      }
      {
        STORE(t0[0], (float16 *)(r0 + stream * 2048 + block * 16));
      }
    }
  }
}
