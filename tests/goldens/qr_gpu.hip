// tests/goldens/qr_f32.hlo: threads 256, 32 across, 1 matrices, 1 block each, in shared memory in rows of 21
extern "C" __global__ __launch_bounds__(256, 1) void sett_qr_f32(const float *__restrict__ p0, float *__restrict__ r0, float *__restrict__ r1)
{
  __shared__ float tile[840];
  __shared__ float sums[160];
  __shared__ float tops[20];
  __shared__ float column[40];
  __shared__ float sizes[8];
  const int th_x = (int)threadIdx.x;
  const int lane = th_x % 32, group = th_x / 32;
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) tile[i * 21 + j] = p0[i + j * 40];
  __syncthreads();
  if (lane == 0) {
    float size = 0;
    for (int i = group; i < 40; i += 8)
      if (i > 0 && !(fabsf(tile[i * 21]) <= size)) size = fabsf(tile[i * 21]);
    sizes[group] = size;
  }
  __syncthreads();
  for (int k = 0; k < 20; ++k) {
    float rest = 0, tau = 0;
    for (int g = 0; g < 8; ++g)
      if (!(sizes[g] <= rest)) rest = sizes[g];
    const float alpha = tile[k * 21 + k];
    const float most = fabsf(alpha) > rest ? fabsf(alpha) : rest;
    if (rest != 0) {
      for (int j = k + lane; j < 20; j += 32) {
        float sum = 0;
        for (int i = k + 1 + group; i < 40; i += 8) {
          const float x = tile[i * 21 + k] / most;
          sum += x * (j == k ? x : tile[i * 21 + j]);
        }
        sums[group * 20 + j] = sum;
        if (group == 0) tops[j] = tile[k * 21 + j];
      }
      for (int i = k + 1 + th_x; i < 40; i += 256) column[i] = tile[i * 21 + k] / most;
    }
    __syncthreads();
    if (rest != 0) {
      const float first = alpha / most;
      float squares = first * first;
      for (int g = 0; g < 8; ++g) squares += sums[g * 20 + k];
      const float norm = most * sqrtf(squares), beta = alpha < 0 ? norm : -norm;
      const float scale = most / (alpha - beta);
      tau = (beta - alpha) / beta;
      for (int j = k + 1 + lane; j < 20; j += 32) {
        float sum = 0;
        for (int g = 0; g < 8; ++g) sum += sums[g * 20 + j];
        const float dot = (tops[j] + sum * scale) * tau;
        if (group == 0) tile[k * 21 + j] = tops[j] - dot;
        for (int i = k + 1 + group; i < 40; i += 8) tile[i * 21 + j] -= dot * (column[i] * scale);
      }
      for (int i = k + 1 + th_x; i < 40; i += 256) tile[i * 21 + k] = column[i] * scale;
      if (th_x == 0) tile[k * 21 + k] = beta;
    }
    if (th_x == 0) r1[k] = tau;
    if (lane == 0 && (k + 1) < 20) {
      float size = 0;
      for (int i = (k + 1) + group; i < 40; i += 8)
        if (i > (k + 1) && !(fabsf(tile[i * 21 + (k + 1)]) <= size)) size = fabsf(tile[i * 21 + (k + 1)]);
      sizes[group] = size;
    }
    __syncthreads();
  }
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) r0[i + j * 40] = tile[i * 21 + j];
}
