// tests/goldens/lu_large_f32.hlo: threads 256, 32 across, 1 matrices, 1 block each, in shared memory in rows of 21
extern "C" __global__ __launch_bounds__(256, 1) void sett_lu_large_f32(const float *__restrict__ p0, float *__restrict__ r0, int *__restrict__ r1, int *__restrict__ r2)
{
  __shared__ float tile[840];
  __shared__ float values[33];
  __shared__ int places[32];
  const int th_x = (int)threadIdx.x;
  const int lane = th_x % 32, group = th_x / 32;
  int info = 0;
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) tile[i * 21 + j] = p0[i + j * 40];
  __syncthreads();
  for (int k = 0; k < 20; ++k) {
    if (th_x < 32) {
      float value = th_x == 0 ? tile[k * 21 + k] : 0, most = th_x == 0 ? fabsf(value) : -1;
      int place = k + th_x;
      for (int i = k + th_x; i < 40; i += 32) {
        const float x = tile[i * 21 + k];
        if (fabsf(x) > most) {
          value = x;
          most = fabsf(x);
          place = i;
        }
      }
      values[th_x] = value;
      places[th_x] = (int)place;
      if (th_x == 0) values[32] = tile[k * 21 + k];
    }
    __syncthreads();
    float pivot = values[0];
    int row = places[0];
    for (int p = 1; p < 32 && k + p < 40; ++p) {
      const float size = fabsf(values[p]);
      if (size > fabsf(pivot) || (size == fabsf(pivot) && places[p] < row)) {
        pivot = values[p];
        row = places[p];
      }
    }
    const float before = values[32];
    if (th_x == 0) r1[k] = (int)row + 1;
    if (pivot == 0 && info == 0) info = (int)k + 1;
    if (pivot != 0) {
      if (row != k)
        for (int j = th_x; j < 20; j += 256)
          if (j != k) {
            const float x = tile[k * 21 + j];
            tile[k * 21 + j] = tile[row * 21 + j];
            tile[row * 21 + j] = x;
          }
      for (int i = k + 1 + th_x; i < 40; i += 256) tile[i * 21 + k] = (i == row ? before : tile[i * 21 + k]) / pivot;
      if (th_x == 0) tile[k * 21 + k] = pivot;
    }
    __syncthreads();
    if (pivot != 0) {
      for (int i = k + 1 + group; i < 40; i += 8) {
        const float x = tile[i * 21 + k];
        for (int j = k + 1 + lane; j < 20; j += 32) tile[i * 21 + j] -= x * tile[k * 21 + j];
      }
    }
    __syncthreads();
  }
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) r0[i + j * 40] = tile[i * 21 + j];
  if (th_x == 0) r2[0] = info;
}
