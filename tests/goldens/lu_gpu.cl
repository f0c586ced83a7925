// tests/goldens/lu_large_f32.hlo: threads 256, 32 across, 1 matrices, 1 block each, in shared memory in rows of 21
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sett_lu_large_f32(__global const float *restrict p0, __global float *restrict r0, __global int *restrict r1, __global int *restrict r2)
{
  __local float tile[840];
  __local float values[33];
  __local int places[32];
  const int th_x = (int)get_local_id(0);
  const int lane = th_x % 32, group = th_x / 32;
  int info = 0;
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) tile[i * 21 + j] = p0[i + j * 40];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 20; ++k) {
    if (th_x < 32) {
      float value = th_x == 0 ? tile[k * 21 + k] : 0, most = th_x == 0 ? fabs(value) : -1;
      int place = k + th_x;
      for (int i = k + th_x; i < 40; i += 32) {
        const float x = tile[i * 21 + k];
        if (fabs(x) > most) {
          value = x;
          most = fabs(x);
          place = i;
        }
      }
      values[th_x] = value;
      places[th_x] = (int)place;
      if (th_x == 0) values[32] = tile[k * 21 + k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float pivot = values[0];
    int row = places[0];
    for (int p = 1; p < 32 && k + p < 40; ++p) {
      const float size = fabs(values[p]);
      if (size > fabs(pivot) || (size == fabs(pivot) && places[p] < row)) {
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
    barrier(CLK_LOCAL_MEM_FENCE);
    if (pivot != 0) {
      for (int i = k + 1 + group; i < 40; i += 8) {
        const float x = tile[i * 21 + k];
        for (int j = k + 1 + lane; j < 20; j += 32) tile[i * 21 + j] -= x * tile[k * 21 + j];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) r0[i + j * 40] = tile[i * 21 + j];
  if (th_x == 0) r2[0] = info;
}
