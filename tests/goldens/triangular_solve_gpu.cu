// tests/goldens/triangular_solve_f32.hlo: threads 64, 16 across, 1 matrices, 1 block each, in shared memory in rows of 21
extern "C" __global__ __launch_bounds__(64, 1) void sett_triangular_solve_f32(const float *__restrict__ p0, const float *__restrict__ p1, float *__restrict__ r0)
{
  __shared__ float tile[420];
  __shared__ float solved[180];
  const int th_x = (int)threadIdx.x;
  const int lane = th_x % 16, group = th_x / 16;
  for (int i = group; i < 20; i += 4)
    for (int j = lane; j < 20; j += 16) tile[i * 21 + j] = p0[i * 20 + j];
  for (int j = group; j < 9; j += 4)
    for (int i = lane; i < 20; i += 16) solved[i * 9 + j] = p1[i + j * 20];
  __syncthreads();
  for (int step = 0; step < 19; ++step) {
    const int k = step;
    if (lane < 9) {
      const float value = solved[k * 9 + lane] / tile[k * 21 + k];
      for (int i = k + 1 + group; i < 20; i += 4) solved[i * 9 + lane] -= tile[i * 21 + k] * value;
    }
    __syncthreads();
  }
  for (int j = group; j < 9; j += 4)
    for (int i = lane; i < 20; i += 16) r0[i + j * 20] = solved[i * 9 + j] / tile[i * 21 + i];
}
