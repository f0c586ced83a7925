// tests/goldens/tridiagonal_solve_f32.hlo: threads 64, 1 matrices, 1 a work-item, in local arrays
extern "C" __global__ __launch_bounds__(64) void sett_tridiagonal_solve_f32(const float *__restrict__ p0, const float *__restrict__ p1, const float *__restrict__ p2, const float *__restrict__ p3, float *__restrict__ r0, float *__restrict__ r1, float *__restrict__ r2, float *__restrict__ r3, int *__restrict__ r4)
{
  const int th_x = (int)threadIdx.x;
  const int matrix = th_x;
  if (matrix < 1) {
    int info = 0;
    for (int i = 0; i < 20; ++i) {
      r0[i] = p0[i];
      r1[i] = p1[i];
      r2[i] = p2[i];
      for (int s = 0; s < 1; ++s) r3[i + s * 20] = p3[i + s * 20];
    }
    for (int i = 0; i < 19 && info == 0; ++i) {
      const float pivot = r1[i], below = r0[i + 1];
      if (fabsf(pivot) >= fabsf(below)) {
        const float factor = below / pivot;
        if (pivot == 0) {
          info = (int)i + 1;
        } else {
          r1[i + 1] -= factor * r2[i];
          for (int s = 0; s < 1; ++s) r3[i + 1 + s * 20] -= factor * r3[i + s * 20];
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
        for (int s = 0; s < 1; ++s) {
          const float y = r3[i + s * 20], z = r3[i + 1 + s * 20];
          r3[i + s * 20] = z;
          r3[i + 1 + s * 20] = y - factor * z;
        }
      }
    }
    if (info == 0 && r1[19] == 0) info = 20;
    for (int i = 19; i >= 0; --i)
      for (int s = 0; s < 1; ++s) {
        float value = r3[i + s * 20];
        if (i + 1 < 20) value -= r2[i] * r3[i + 1 + s * 20];
        if (i + 2 < 20) value -= r0[i + 1] * r3[i + 2 + s * 20];
        r3[i + s * 20] = info != 0 ? NAN : value / r1[i];
      }
    r4[0] = info;
  }
}
