// tests/goldens/householder_product_f32.hlo: threads 64, 100 matrices, 1 a work-item, in local arrays
extern "C" __global__ __launch_bounds__(64) void sett_householder_product_f32(const float *__restrict__ p0, const float *__restrict__ p1, float *__restrict__ r0)
{
  const int bl_x = (int)blockIdx.x;
  const int th_x = (int)threadIdx.x;
  const int matrix = bl_x * 64 + th_x;
  if (matrix < 100) {
    const int p0_at = matrix * 15;
    const int p1_at = matrix * 3;
    const int r0_at = matrix * 15;
    float w0[15];
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 5; ++i) w0[i + j * 5] = p0[p0_at + i + j * 5];
    #pragma unroll
    for (int k = 2; k >= 0; --k) {
      const float tau = p1[p1_at + k];
      for (int j = k + 1; j < 3; ++j) {
        float dot = w0[k + j * 5];
        for (int i = k + 1; i < 5; ++i) dot += w0[i + k * 5] * w0[i + j * 5];
        dot *= tau;
        w0[k + j * 5] -= dot;
        for (int i = k + 1; i < 5; ++i) w0[i + j * 5] -= dot * w0[i + k * 5];
      }
      for (int i = k + 1; i < 5; ++i) w0[i + k * 5] *= -tau;
      w0[k + k * 5] = 1 - tau;
      for (int i = 0; i < k; ++i) w0[i + k * 5] = 0;
    }
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 5; ++i) r0[r0_at + i + j * 5] = w0[i + j * 5];
  }
}
