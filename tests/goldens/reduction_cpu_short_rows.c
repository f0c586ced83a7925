// tests/goldens/row_sum_8_f32.hlo: rows, threads 1, 8 accumulators of 16, 16 rows folded together, 8 times
static void sett_row_sum_8_f32(const float *restrict p0, float *restrict r0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  const uint32_t chunk = bl_x;
  for (uint32_t block = chunk * 8; block < chunk * 8 + 8; ++block)
  {
    float16 a0[8];
    UNROLL
    for (uint32_t vec = 0; vec < 8; ++vec) {
      a0[vec] = splat_float16(0.0f);
    }
    {
      UNROLL
      for (uint32_t vec = 0; vec < 8; ++vec) {
        const float16 v_x = *(const float16 *)(p0 + block * 128 + vec * 16);
        const float16 v_sum = a0[vec] + v_x;
        a0[vec] = v_sum;
      }
    }
    float16 half4_0[4];
    UNROLL
    for (uint32_t vec = 0; vec < 4; ++vec) {
      const float16 even0 = even_f32(a0[2 * vec], a0[2 * vec + 1]);
      const float16 odd0 = odd_f32(a0[2 * vec], a0[2 * vec + 1]);
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
      STORE(t0[0], (float16 *)(r0 + block * 16));
    }
  }
}
