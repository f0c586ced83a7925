// tests/goldens/householder_product_large_f32.hlo: threads 256, 32 across, 1 matrices, 1 block each, in shared memory in rows of 21
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sett_householder_product_large_f32(__global const float *restrict p0, __global const float *restrict p1, __global float *restrict r0)
{
  __local float tile[840];
  __local float sums[160];
  __local float tops[20];
  __local float column[40];
  const int th_x = (int)get_local_id(0);
  const int lane = th_x % 32, group = th_x / 32;
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) tile[i * 21 + j] = j < 17 ? p0[i + j * 40] : i == j;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 16; k >= 0; --k) {
    const float tau = p1[k];
    for (int j = k + 1 + lane; j < 20; j += 32) {
      float sum = 0;
      for (int i = k + 1 + group; i < 40; i += 8) sum += tile[i * 21 + k] * tile[i * 21 + j];
      sums[group * 20 + j] = sum;
      if (group == 0) tops[j] = tile[k * 21 + j];
    }
    for (int i = k + 1 + th_x; i < 40; i += 256) column[i] = tile[i * 21 + k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = k + 1 + lane; j < 20; j += 32) {
      float sum = tops[j];
      for (int g = 0; g < 8; ++g) sum += sums[g * 20 + j];
      const float dot = sum * tau;
      if (group == 0) tile[k * 21 + j] = tops[j] - dot;
      for (int i = k + 1 + group; i < 40; i += 8) tile[i * 21 + j] -= dot * column[i];
    }
    for (int i = th_x; i < 40; i += 256) tile[i * 21 + k] = i < k ? 0 : i == k ? 1 - tau : column[i] * -tau;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) r0[i + j * 40] = tile[i * 21 + j];
}
