// tests/goldens/column_cummax_f32.hlo: scan of columns, threads 1, 1 rows a work-item, 3 registers of 16 columns
static void sett_column_cummax_f32(const float *restrict p0, float *restrict r0, size_t number)
{
  (void)number;
  for (uint32_t row = 0; row < 1; ++row) {
    float16 a0[3];
    for (uint32_t vec = 0; vec < 3; ++vec)
      a0[vec] = splat_float16(float_of_bits(0xff800000u));
    float16 e0 = splat_float16(float_of_bits(0xff800000u));
    for (uint32_t place = 40; place-- > 0;)
    {
      for (uint32_t vec = 0; vec < 3; ++vec) {
        const float16 v_x = load_float16(p0 + place * 50 + vec * 16);
        const float16 v_max = maximum_f32_16(v_x, a0[vec]);
        a0[vec] = v_max;
        store_float16(v_max, r0 + place * 50 + vec * 16);
      }
      {
        const float16 v_x = load_float16(p0 + place * 50 + 34);
        const float16 v_max = maximum_f32_16(v_x, e0);
        e0 = v_max;
        store_float16(v_max, r0 + place * 50 + 34);
      }
    }
  }
}
