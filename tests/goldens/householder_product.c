// tests/goldens/householder_product_f32.hlo: threads 1, 100 matrices, 3 a work-item, in local arrays
static void sett_householder_product_f32(const float *restrict p0, const float *restrict p1, float *restrict r0, size_t number)
{
  const int32_t bl_x = (int32_t)number;
  const int32_t first = bl_x * 3, last = first + 3;
  const int32_t end = last < 100 ? last : 100;
  for (int32_t matrix = first; matrix < end; ++matrix) {
    const int32_t p0_at = matrix * 15;
    const int32_t p1_at = matrix * 3;
    const int32_t r0_at = matrix * 15;
    float w0[15];
    for (int32_t j = 0; j < 3; ++j)
      for (int32_t i = 0; i < 5; ++i) w0[i + j * 5] = p0[p0_at + i + j * 5];
    UNROLL_LOOPS
    for (int32_t k = 2; k >= 0; --k) {
      const float tau = p1[p1_at + k];
      for (int32_t j = k + 1; j < 3; ++j) {
        float dot = w0[k + j * 5];
        for (int32_t i = k + 1; i < 5; ++i) dot += w0[i + k * 5] * w0[i + j * 5];
        dot *= tau;
        w0[k + j * 5] -= dot;
        for (int32_t i = k + 1; i < 5; ++i) w0[i + j * 5] -= dot * w0[i + k * 5];
      }
      for (int32_t i = k + 1; i < 5; ++i) w0[i + k * 5] *= -tau;
      w0[k + k * 5] = 1 - tau;
      for (int32_t i = 0; i < k; ++i) w0[i + k * 5] = 0;
    }
    for (int32_t j = 0; j < 3; ++j)
      for (int32_t i = 0; i < 5; ++i) r0[r0_at + i + j * 5] = w0[i + j * 5];
  }
}
