// tests/goldens/cholesky_f32.hlo: threads 64, 100 matrices, 1 a work-item, in local arrays
extern "C" __global__ __launch_bounds__(64) void sett_cholesky_f32(const float *__restrict__ p0, float *__restrict__ r0)
{
  const int bl_x = (int)blockIdx.x;
  const int th_x = (int)threadIdx.x;
  const int matrix = bl_x * 64 + th_x;
  if (matrix < 100) {
    const int p0_at = matrix * 9;
    const int r0_at = matrix * 9;
    float w0[9];
    int info = 0;
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j) w0[i * 3 + j] = p0[p0_at + i + j * 3];
    #pragma unroll
    for (int k = 0; k < 3; ++k) {
      const float pivot = w0[k * 3 + k], root = sqrtf(pivot), scale = 1 / root;
      if (!(pivot > 0) && info == 0) info = (int)k + 1;
      w0[k * 3 + k] = root;
      #pragma unroll
      for (int j = k + 1; j < 3; ++j) w0[k * 3 + j] *= scale;
      #pragma unroll
      for (int i = k + 1; i < 3; ++i) {
        const float x = w0[k * 3 + i];
        #pragma unroll
        for (int j = i; j < 3; ++j) w0[i * 3 + j] -= x * w0[k * 3 + j];
      }
    }
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j) {
        const float x = info != 0 ? NAN : w0[i * 3 + j];
        if (i != j) r0[r0_at + j + i * 3] = 0;
        r0[r0_at + i + j * 3] = x;
      }
  }
}
