// tests/goldens/cholesky_f32.hlo: threads 1, 100 matrices, 3 a work-item, in local arrays
static void sett_cholesky_f32(const float *restrict p0, float *restrict r0, size_t number)
{
  const int32_t bl_x = (int32_t)number;
  const int32_t first = bl_x * 3, last = first + 3;
  const int32_t end = last < 100 ? last : 100;
  for (int32_t matrix = first; matrix < end; ++matrix) {
    const int32_t p0_at = matrix * 9;
    const int32_t r0_at = matrix * 9;
    float w0[9];
    int32_t info = 0;
    for (int32_t i = 0; i < 3; ++i)
      for (int32_t j = i; j < 3; ++j) w0[i * 3 + j] = p0[p0_at + i + j * 3];
    UNROLL_LOOPS
    for (int32_t k = 0; k < 3; ++k) {
      const float pivot = w0[k * 3 + k], root = sqrtf(pivot), scale = 1 / root;
      if (!(pivot > 0) && info == 0) info = (int32_t)k + 1;
      w0[k * 3 + k] = root;
      UNROLL_LOOPS
      for (int32_t j = k + 1; j < 3; ++j) w0[k * 3 + j] *= scale;
      UNROLL_LOOPS
      for (int32_t i = k + 1; i < 3; ++i) {
        const float x = w0[k * 3 + i];
        UNROLL_LOOPS
        for (int32_t j = i; j < 3; ++j) w0[i * 3 + j] -= x * w0[k * 3 + j];
      }
    }
    for (int32_t i = 0; i < 3; ++i)
      for (int32_t j = i; j < 3; ++j) {
        const float x = info != 0 ? float_of_bits(0x7fc00000u) : w0[i * 3 + j];
        if (i != j) r0[r0_at + j + i * 3] = 0;
        r0[r0_at + i + j * 3] = x;
      }
  }
}
