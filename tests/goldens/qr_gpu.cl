// tests/goldens/qr_f32.hlo: threads 256, 32 across, 1 matrices, 1 block each, in shared memory in rows of 21
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sett_qr_f32(__global const float *restrict p0, __global float *restrict r0, __global float *restrict r1)
{
  __local float tile[840];
  __local float sums[160];
  __local float tops[20];
  __local float column[40];
  __local float sizes[8];
  const int th_x = (int)get_local_id(0);
  const int lane = th_x % 32, group = th_x / 32;
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) tile[i * 21 + j] = p0[i + j * 40];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0) {
    float size = 0;
    for (int i = group; i < 40; i += 8)
      if (i > 0 && !(fabs(tile[i * 21]) <= size)) size = fabs(tile[i * 21]);
    sizes[group] = size;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 20; ++k) {
    float rest = 0, tau = 0;
    for (int g = 0; g < 8; ++g)
      if (!(sizes[g] <= rest)) rest = sizes[g];
    const float alpha = tile[k * 21 + k];
    const float most = fabs(alpha) > rest ? fabs(alpha) : rest;
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
    barrier(CLK_LOCAL_MEM_FENCE);
    if (rest != 0) {
      const float first = alpha / most;
      float squares = first * first;
      for (int g = 0; g < 8; ++g) squares += sums[g * 20 + k];
      const float norm = most * sqrt(squares), beta = alpha < 0 ? norm : -norm;
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
        if (i > (k + 1) && !(fabs(tile[i * 21 + (k + 1)]) <= size)) size = fabs(tile[i * 21 + (k + 1)]);
      sizes[group] = size;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int j = group; j < 20; j += 8)
    for (int i = lane; i < 40; i += 32) r0[i + j * 40] = tile[i * 21 + j];
}
