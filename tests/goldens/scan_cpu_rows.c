// bench/cumsum_f32.hlo: scan of rows, threads 1, 16 rows a work-item, 1 x 16 elements a step, streamed
static void sett_cumsum_f32(const float *restrict p0, float *restrict r0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  const uint32_t chunk = bl_x;
  for (uint32_t row = chunk * 16; row < chunk * 16 + 16; ++row) {
    float16 a0 = splat_float16(0.0f);
    for (uint32_t step = 0; step < 256; ++step)
    {
      {
        const float16 v_x = *(const float16 *)(p0 + row * 4096 + step * 16);
        const float16 v_sum = on_1_float16(v_x, splat_float16((-0.0f))) + v_x;
        const float16 v_sum_1 = on_2_float16(v_sum, splat_float16((-0.0f))) + v_sum;
        const float16 v_sum_2 = on_4_float16(v_sum_1, splat_float16((-0.0f))) + v_sum_1;
        const float16 v_sum_3 = on_8_float16(v_sum_2, splat_float16((-0.0f))) + v_sum_2;
        const float16 v_sum_4 = a0 + v_sum_3;
        const float16 v_sum_5 = a0 + last_float16(v_sum_3);
        a0 = v_sum_5;
        STREAM(v_sum_4, (float16 *)(r0 + row * 4096 + step * 16));
      }
    }
  }
}
