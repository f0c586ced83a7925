// tests/kernels/column_max_bf16.hlo: columns, threads 1, 4 accumulators of 16
static void sett_column_max_bf16(const uint16_t *restrict p0, uint16_t *restrict r0, size_t number)
{
  (void)number;
  {
    float16 a0[4];
    UNROLL
    for (uint32_t vec = 0; vec < 4; ++vec) {
      a0[vec] = splat_float16(float_of_bits(0xff800000u));
    }
    float16 e0[1];
    UNROLL
    for (uint32_t vec = 0; vec < 1; ++vec) {
      e0[vec] = splat_float16(float_of_bits(0xff800000u));
    }
    for (uint32_t g0 = 0; g0 < 50; ++g0)
    {
      UNROLL
      for (uint32_t vec = 0; vec < 4; ++vec) {
        const float16 v_x = as_float16(convert_uint16(load_ushort16(p0 + g0 * 70 + vec * 16)) << 16);
        const float16 v_m = maximum_f32_16(a0[vec], v_x);
        a0[vec] = v_m;
      }
      {
        const float16 v_x = as_float16(convert_uint16(load_ushort16(p0 + g0 * 70 + 54)) << 16);
        const float16 v_m = maximum_f32_16(e0[0], v_x);
        e0[0] = v_m;
      }
    }
    {
      UNROLL
      for (uint32_t vec = 0; vec < 4; ++vec) {
        const float16 v_total = round_bf16_16(a0[vec]);
        STORE(convert_ushort16(as_uint16(v_total) >> 16), (ushort16 *)(r0 + vec * 16));
      }
    }
    {
      const float16 v_total = round_bf16_16(e0[0]);
      store_ushort16(convert_ushort16(as_uint16(v_total) >> 16), r0 + 54);
    }
  }
}
