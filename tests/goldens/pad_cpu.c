// tests/goldens/pad_between_f32.hlo: threads 1, 52 rows of 224, 1 a work-item
static void sett_pad_between_f32(const float *restrict p0, const float *restrict p1, float *restrict r0, size_t number)
{
  const int32_t bl_x = (int32_t)number;
  const float v_z = p1[0];
  const int32_t first = bl_x * 1;
  const int32_t end = first + 1;
  for (int32_t row = first; row < end; ++row) {
    const int32_t g0 = row;
    for (int32_t k = 0; k < 224; ++k) r0[row * 224 + k] = v_z;
    if (g0 >= 1 && g0 <= 50) {
      const int32_t i0 = g0 - 1;
      for (int32_t i1 = 1; i1 <= 28; ++i1) {
        for (int32_t i2 = 0; i2 <= 2; ++i2) {
          const float v_x = p0[i0 * 90 + i1 * 3 + i2];
          r0[i0 * 224 + i1 * 8 + i2 * 3 + 216] = v_x;
        }
      }
    }
  }
}
