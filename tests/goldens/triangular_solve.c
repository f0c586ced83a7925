// tests/goldens/triangular_solve_f32.hlo: threads 1, 1 matrices, 1 a work-item, in memory
static void sett_triangular_solve_f32(const float *restrict p0, const float *restrict p1, float *restrict r0, size_t number)
{
  (void)number;
  for (int32_t j = 0; j < 9; ++j)
    for (int32_t i = 0; i < 20; ++i) r0[i + j * 20] = p1[i + j * 20];
  for (int32_t first = 0; first < 8; first += 8) {
    float block[160];
    for (int32_t i = 0; i < 20; ++i)
      for (int32_t j = 0; j < 8; ++j) block[i * 8 + j] = r0[i + (first + j) * 20];
    for (int32_t i = 0; i < 20; ++i) {
      float sum[8];
      for (int32_t j = 0; j < 8; ++j) sum[j] = block[i * 8 + j];
      for (int32_t k = 0; k < i; ++k) {
        const float factor = p0[i * 20 + k];
        for (int32_t j = 0; j < 8; ++j) sum[j] -= factor * block[k * 8 + j];
      }
      for (int32_t j = 0; j < 8; ++j) block[i * 8 + j] = sum[j] / p0[i * 20 + i];
    }
    for (int32_t j = 0; j < 8; ++j)
      for (int32_t i = 0; i < 20; ++i) r0[i + (first + j) * 20] = block[i * 8 + j];
  }
  for (int32_t j = 8; j < 9; ++j) {
    for (int32_t k = 0; k < 20; ++k) {
      const float value = r0[k + j * 20] / p0[k * 20 + k];
      r0[k + j * 20] = value;
      for (int32_t i = k + 1; i < 20; ++i) r0[i + j * 20] -= value * p0[i * 20 + k];
    }
  }
}
