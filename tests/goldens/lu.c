// tests/goldens/lu_f32.hlo: threads 1, 100 matrices, 3 a work-item, in local arrays
static void sett_lu_f32(const float *restrict p0, float *restrict r0, int32_t *restrict r1, int32_t *restrict r2, size_t number)
{
  const int32_t bl_x = (int32_t)number;
  const int32_t first = bl_x * 3, last = first + 3;
  const int32_t end = last < 100 ? last : 100;
  for (int32_t matrix = first; matrix < end; ++matrix) {
    const int32_t p0_at = matrix * 9;
    const int32_t r0_at = matrix * 9;
    const int32_t r1_at = matrix * 3;
    const int32_t r2_at = matrix;
    float w0[9];
    int32_t info = 0;
    for (int32_t j = 0; j < 3; ++j)
      for (int32_t i = 0; i < 3; ++i) w0[i + j * 3] = p0[p0_at + i + j * 3];
    UNROLL_LOOPS
    for (int32_t k = 0; k < 3; ++k) {
      int32_t row = k;
      float most = fabsf(w0[k + k * 3]);
      for (int32_t i = k + 1; i < 3; ++i) {
        const float size = fabsf(w0[i + k * 3]);
        if (size > most) {
          most = size;
          row = i;
        }
      }
      r1[r1_at + k] = (int32_t)row + 1;
      if (most == 0) {
        if (info == 0) info = (int32_t)k + 1;
        continue;
      }
      if (row != k)
        for (int32_t j = 0; j < 3; ++j) {
          const float x = w0[k + j * 3];
          w0[k + j * 3] = w0[row + j * 3];
          w0[row + j * 3] = x;
        }
      const float pivot = w0[k + k * 3];
      UNROLL_LOOPS
      for (int32_t i = k + 1; i < 3; ++i) w0[i + k * 3] /= pivot;
      UNROLL_LOOPS
      for (int32_t j = k + 1; j < 3; ++j) {
        const float x = w0[k + j * 3];
        UNROLL_LOOPS
        for (int32_t i = k + 1; i < 3; ++i) w0[i + j * 3] -= w0[i + k * 3] * x;
      }
    }
    for (int32_t j = 0; j < 3; ++j)
      for (int32_t i = 0; i < 3; ++i) r0[r0_at + i + j * 3] = w0[i + j * 3];
    r2[r2_at] = info;
  }
}
