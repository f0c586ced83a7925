// tests/goldens/eigh_f32.hlo: threads 64, 100 matrices, 1 a work-item, in local arrays
extern "C" __global__ __launch_bounds__(64) void sett_eigh_f32(const float *__restrict__ p0, float *__restrict__ r0, float *__restrict__ r1, int *__restrict__ r2)
{
  const int bl_x = (int)blockIdx.x;
  const int th_x = (int)threadIdx.x;
  const int matrix = bl_x * 64 + th_x;
  if (matrix < 100) {
    const int p0_at = matrix * 9;
    const int r0_at = matrix * 9;
    const int r1_at = matrix * 3;
    const int r2_at = matrix;
    float w0[9];
    float w1[9];
    float all = 0;
    int turned = 1;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const float x = i >= j ? p0[p0_at + i + j * 3] : p0[p0_at + j + i * 3];
        w0[i * 3 + j] = x;
        all += fabsf(x);
        w1[i * 3 + j] = i == j ? 1 : 0;
      }
    const int finite = all - all == 0;
    for (int sweep = 0; sweep < 40 && turned && finite; ++sweep) {
      turned = 0;
      for (int p = 0; p < 2; ++p)
        for (int q = p + 1; q < 3; ++q) {
          const float off = w0[p * 3 + q];
          if (fabsf(off) <= all * 0x1p-24f / 3) continue;
          turned = 1;
          const float angle = (w0[q * 3 + q] - w0[p * 3 + p]) / (2 * off);
          const float size = fabsf(angle) + sqrtf(angle * angle + 1);
          const float tangent = angle < 0 ? -1 / size : 1 / size;
          const float c = 1 / sqrtf(tangent * tangent + 1), s = tangent * c;
          for (int k = 0; k < 3; ++k) {
            const float x = w0[p * 3 + k], y = w0[q * 3 + k];
            w0[p * 3 + k] = c * x - s * y;
            w0[q * 3 + k] = s * x + c * y;
          }
          for (int k = 0; k < 3; ++k) {
            const float x = w0[k * 3 + p], y = w0[k * 3 + q];
            w0[k * 3 + p] = c * x - s * y;
            w0[k * 3 + q] = s * x + c * y;
          }
          for (int k = 0; k < 3; ++k) {
            const float x = w1[p * 3 + k], y = w1[q * 3 + k];
            w1[p * 3 + k] = c * x - s * y;
            w1[q * 3 + k] = s * x + c * y;
          }
        }
    }
    for (int to = 0; to < 3; ++to) {
      int least = to;
      for (int k = to + 1; k < 3; ++k)
        if (w0[k * 3 + k] < w0[least * 3 + least]) least = k;
      const float value = w0[least * 3 + least];
      w0[least * 3 + least] = w0[to * 3 + to];
      r1[r1_at + to] = finite ? value : NAN;
      float most = 0, sign = 1;
      for (int k = 0; k < 3; ++k) {
        const float x = w1[least * 3 + k];
        if (fabsf(x) > most) {
          most = fabsf(x);
          sign = x < 0 ? -1 : 1;
        }
        w1[least * 3 + k] = w1[to * 3 + k];
        w1[to * 3 + k] = x;
      }
      for (int k = 0; k < 3; ++k) r0[r0_at + k + to * 3] = finite ? w1[to * 3 + k] * sign : NAN;
    }
    r2[r2_at] = finite ? 0 : 1;
  }
}
