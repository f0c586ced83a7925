// tests/goldens/tridiagonal_solve_f32.hlo: threads 1, 1 matrices, 1 a work-item, in local arrays
static void sett_tridiagonal_solve_f32(const float *restrict p0, const float *restrict p1, const float *restrict p2, const float *restrict p3, float *restrict r0, float *restrict r1, float *restrict r2, float *restrict r3, int32_t *restrict r4, size_t number)
{
  (void)number;
  int32_t info = 0;
  for (int32_t i = 0; i < 20; ++i) {
    r0[i] = p0[i];
    r1[i] = p1[i];
    r2[i] = p2[i];
    for (int32_t s = 0; s < 1; ++s) r3[i + s * 20] = p3[i + s * 20];
  }
  for (int32_t i = 0; i < 19 && info == 0; ++i) {
    const float pivot = r1[i], below = r0[i + 1];
    if (fabsf(pivot) >= fabsf(below)) {
      const float factor = below / pivot;
      if (pivot == 0) {
        info = (int32_t)i + 1;
      } else {
        r1[i + 1] -= factor * r2[i];
        for (int32_t s = 0; s < 1; ++s) r3[i + 1 + s * 20] -= factor * r3[i + s * 20];
        if (i + 2 < 20) r0[i + 1] = 0;
      }
    } else {
      const float factor = pivot / below, next = r1[i + 1];
      r1[i] = below;
      r1[i + 1] = r2[i] - factor * next;
      r2[i] = next;
      if (i + 2 < 20) {
        const float after = r2[i + 1];
        r0[i + 1] = after;
        r2[i + 1] = -factor * after;
      }
      for (int32_t s = 0; s < 1; ++s) {
        const float y = r3[i + s * 20], z = r3[i + 1 + s * 20];
        r3[i + s * 20] = z;
        r3[i + 1 + s * 20] = y - factor * z;
      }
    }
  }
  if (info == 0 && r1[19] == 0) info = 20;
  for (int32_t i = 19; i >= 0; --i)
    for (int32_t s = 0; s < 1; ++s) {
      float value = r3[i + s * 20];
      if (i + 1 < 20) value -= r2[i] * r3[i + 1 + s * 20];
      if (i + 2 < 20) value -= r0[i + 1] * r3[i + 2 + s * 20];
      r3[i + s * 20] = info != 0 ? float_of_bits(0x7fc00000u) : value / r1[i];
    }
  r4[0] = info;
}
