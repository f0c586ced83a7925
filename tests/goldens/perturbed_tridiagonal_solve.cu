// tests/goldens/perturbed_tridiagonal_solve_f32.hlo: threads 64, 1 matrices, 1 a work-item, in local arrays
extern "C" __global__ __launch_bounds__(64) void sett_perturbed_tridiagonal_solve_f32(const float *__restrict__ p0, const float *__restrict__ p1, const float *__restrict__ p2, const float *__restrict__ p3, float *__restrict__ r0)
{
  const int th_x = (int)threadIdx.x;
  const int matrix = th_x;
  if (matrix < 1) {
    float w0[60];
    w0[0] = p1[0];
    w0[1] = p2[0];
    w0[2] = 0;
    for (int s = 0; s < 1; ++s) r0[s * 20] = p3[s * 20];
    float largest = fabsf(w0[0]), scale = largest + fabsf(w0[1]);
    if (fabsf(w0[1]) > largest) largest = fabsf(w0[1]);
    for (int i = 0; i + 1 < 20; ++i) {
      const float below = p0[i + 1], next = p1[i + 1], pivot = w0[i * 3];
      const float after = i + 2 < 20 ? p2[i + 1] : 0;
      const float other = fabsf(below) + fabsf(next) + fabsf(after);
      const float own = pivot == 0 ? 0 : fabsf(pivot) / scale;
      w0[(i + 1) * 3 + 2] = 0;
      if (below == 0) {
        w0[(i + 1) * 3] = next;
        w0[(i + 1) * 3 + 1] = after;
        for (int s = 0; s < 1; ++s) r0[i + 1 + s * 20] = p3[i + 1 + s * 20];
        scale = other;
      } else if (fabsf(below) / other <= own) {
        const float factor = below / pivot;
        w0[(i + 1) * 3] = next - factor * w0[i * 3 + 1];
        w0[(i + 1) * 3 + 1] = after;
        for (int s = 0; s < 1; ++s) r0[i + 1 + s * 20] = p3[i + 1 + s * 20] - factor * r0[i + s * 20];
        scale = other;
      } else {
        const float factor = pivot / below;
        w0[(i + 1) * 3] = w0[i * 3 + 1] - factor * next;
        w0[(i + 1) * 3 + 1] = -factor * after;
        w0[i * 3] = below;
        w0[i * 3 + 1] = next;
        w0[i * 3 + 2] = after;
        for (int s = 0; s < 1; ++s) {
          r0[i + 1 + s * 20] = r0[i + s * 20] - factor * p3[i + 1 + s * 20];
          r0[i + s * 20] = p3[i + 1 + s * 20];
        }
        scale = fabsf(w0[(i + 1) * 3]) + fabsf(w0[(i + 1) * 3 + 1]);
      }
      if (i + 2 < 20)
        for (int k = 0; k < 3; ++k)
          if (fabsf(w0[i * 3 + k]) > largest) largest = fabsf(w0[i * 3 + k]);
    }
    if (fabsf(w0[19 * 3]) > largest) largest = fabsf(w0[19 * 3]);
    for (int i = 19; i >= 0; --i) {
      float pivot = w0[i * 3];
      float most = 0, length = fabsf(pivot);
      for (int s = 0; s < 1; ++s) {
        float value = r0[i + s * 20];
        if (i + 1 < 20) value -= w0[i * 3 + 1] * r0[i + 1 + s * 20];
        if (i + 2 < 20) value -= w0[i * 3 + 2] * r0[i + 2 + s * 20];
        r0[i + s * 20] = value;
        if (fabsf(value) > most) most = fabsf(value);
      }
      float step = 2 * 0x1p-24f * largest;
      if (step < 0x1p-126f) step = 0x1p-126f;
      if (pivot < 0) step = -step;
      while (length < 1) {
        if (length < 0x1p-126f ? length == 0 || most * 0x1p-126f > length : most > length * 0x1p126f) {
          pivot += step;
          step *= 2;
        } else {
          if (length < 0x1p-126f) {
            pivot = pivot * 0x1p126f;
            for (int s = 0; s < 1; ++s) r0[i + s * 20] = r0[i + s * 20] * 0x1p126f;
          }
          break;
        }
        length = fabsf(pivot);
      }
      const float inverse = 1 / pivot;
      for (int s = 0; s < 1; ++s) r0[i + s * 20] = r0[i + s * 20] * inverse;
    }
  }
}
