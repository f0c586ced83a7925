// tests/goldens/householder_product_large_f32.hlo: threads 256, 32 across, 1 matrices, 1 block each, in shared memory in rows of 21
extern "C" __global__ __launch_bounds__(256, 1) void sett_householder_product_large_f32(const float *__restrict__ p0, const float *__restrict__ p1, float *__restrict__ r0)
{
  __shared__ float tile[840];
  __shared__ float sums[160];
  __shared__ float tops[20];
  __shared__ float column[40];
  const int th_x = (int)threadIdx.x;
  const int lane = th_x % 32, group = th_x / 32;
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) tile[i * 21 + j] = j < 17 ? p0[i + j * 40] : i == j;
  __syncthreads();
  for (int k = 16; k >= 0; --k) {
    const float tau = p1[k];
    for (int j = k + 1 + lane; j < 20; j += 32) {
      float sum = 0;
      for (int i = k + 1 + group; i < 40; i += 8) sum += tile[i * 21 + k] * tile[i * 21 + j];
      sums[group * 20 + j] = sum;
      if (group == 0) tops[j] = tile[k * 21 + j];
    }
    for (int i = k + 1 + th_x; i < 40; i += 256) column[i] = tile[i * 21 + k];
    __syncthreads();
    for (int j = k + 1 + lane; j < 20; j += 32) {
      float sum = tops[j];
      for (int g = 0; g < 8; ++g) sum += sums[g * 20 + j];
      const float dot = sum * tau;
      if (group == 0) tile[k * 21 + j] = tops[j] - dot;
      for (int i = k + 1 + group; i < 40; i += 8) tile[i * 21 + j] -= dot * column[i];
    }
    for (int i = th_x; i < 40; i += 256) tile[i * 21 + k] = i < k ? 0 : i == k ? 1 - tau : column[i] * -tau;
    __syncthreads();
  }
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) r0[i + j * 40] = tile[i * 21 + j];
}
