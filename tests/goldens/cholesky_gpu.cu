// tests/goldens/cholesky_large_f32.hlo: threads 128, 32 across, 3 matrices, 1 block each, in shared memory in rows of 21
extern "C" __global__ __launch_bounds__(128, 1) void sett_cholesky_large_f32(const float *__restrict__ p0, float *__restrict__ r0)
{
  __shared__ float tile[420];
  __shared__ float scales[20];
  const int bl_x = (int)blockIdx.x;
  const int th_x = (int)threadIdx.x;
  const int lane = th_x % 32, group = th_x / 32;
  const int matrix = bl_x;
  const int p0_at = matrix * 400;
  const int r0_at = matrix * 400;
  int info = 0;
  for (int j = group; j < 20; j += 4)
    for (int i = lane; i < 20; i += 32) if (i <= j) tile[i * 21 + j] = p0[p0_at + i + j * 20];
  __syncthreads();
  for (int k = 0; k < 20 && info == 0; ++k) {
    const float pivot = tile[k * 21 + k], scale = 1 / sqrtf(pivot);
    if (pivot > 0) {
      if (th_x == 0) scales[k] = scale;
      for (int i = k + 1 + group; i < 20; i += 4) {
        const float x = tile[k * 21 + i] * scale;
        for (int j = i + lane; j < 20; j += 32) tile[i * 21 + j] -= x * (tile[k * 21 + j] * scale);
      }
    } else info = (int)k + 1;
    __syncthreads();
  }
  for (int j = group; j < 20; j += 4)
    for (int i = lane; i < 20; i += 32) r0[r0_at + i + j * 20] = i > j ? 0 : info != 0 ? NAN : i == j ? sqrtf(tile[i * 21 + i]) : tile[i * 21 + j] * scales[i];
}
