// tests/goldens/triangular_solve_f32.hlo: threads 64, 1 matrices, 1 a work-item, in memory
extern "C" __global__ __launch_bounds__(64) void sett_triangular_solve_f32(const float *__restrict__ p0, const float *__restrict__ p1, float *__restrict__ r0)
{
  const int th_x = (int)threadIdx.x;
  const int matrix = th_x;
  if (matrix < 1) {
    for (int j = 0; j < 9; ++j)
      for (int i = 0; i < 20; ++i) r0[i + j * 20] = p1[i + j * 20];
    for (int first = 0; first < 8; first += 8) {
      float block[160];
      for (int i = 0; i < 20; ++i)
        for (int j = 0; j < 8; ++j) block[i * 8 + j] = r0[i + (first + j) * 20];
      for (int i = 0; i < 20; ++i) {
        float sum[8];
        for (int j = 0; j < 8; ++j) sum[j] = block[i * 8 + j];
        for (int k = 0; k < i; ++k) {
          const float factor = p0[i * 20 + k];
          for (int j = 0; j < 8; ++j) sum[j] -= factor * block[k * 8 + j];
        }
        for (int j = 0; j < 8; ++j) block[i * 8 + j] = sum[j] / p0[i * 20 + i];
      }
      for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 20; ++i) r0[i + (first + j) * 20] = block[i * 8 + j];
    }
    for (int j = 8; j < 9; ++j) {
      for (int k = 0; k < 20; ++k) {
        const float value = r0[k + j * 20] / p0[k * 20 + k];
        r0[k + j * 20] = value;
        for (int i = k + 1; i < 20; ++i) r0[i + j * 20] -= value * p0[i * 20 + k];
      }
    }
  }
}
