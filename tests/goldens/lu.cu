// tests/goldens/lu_f32.hlo: threads 64, 100 matrices, 1 a work-item, in local arrays
extern "C" __global__ __launch_bounds__(64) void sett_lu_f32(const float *__restrict__ p0, float *__restrict__ r0, int *__restrict__ r1, int *__restrict__ r2)
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
    int info = 0;
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) w0[i + j * 3] = p0[p0_at + i + j * 3];
    #pragma unroll
    for (int k = 0; k < 3; ++k) {
      int row = k;
      float most = fabsf(w0[k + k * 3]);
      for (int i = k + 1; i < 3; ++i) {
        const float size = fabsf(w0[i + k * 3]);
        if (size > most) {
          most = size;
          row = i;
        }
      }
      r1[r1_at + k] = (int)row + 1;
      if (most == 0) {
        if (info == 0) info = (int)k + 1;
        continue;
      }
      if (row != k)
        for (int j = 0; j < 3; ++j) {
          const float x = w0[k + j * 3];
          w0[k + j * 3] = w0[row + j * 3];
          w0[row + j * 3] = x;
        }
      const float pivot = w0[k + k * 3];
      #pragma unroll
      for (int i = k + 1; i < 3; ++i) w0[i + k * 3] /= pivot;
      #pragma unroll
      for (int j = k + 1; j < 3; ++j) {
        const float x = w0[k + j * 3];
        #pragma unroll
        for (int i = k + 1; i < 3; ++i) w0[i + j * 3] -= w0[i + k * 3] * x;
      }
    }
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) r0[r0_at + i + j * 3] = w0[i + j * 3];
    r2[r2_at] = info;
  }
}
