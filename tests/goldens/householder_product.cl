// tests/goldens/householder_product_f32.hlo: threads 1, 100 matrices, 3 a work-item, in local arrays
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_householder_product_f32(__global const float *restrict p0, __global const float *restrict p1, __global float *restrict r0)
{
  const int bl_x = (int)get_group_id(0);
  const int first = bl_x * 3, last = first + 3;
  const int end = last < 100 ? last : 100;
  for (int matrix = first; matrix < end; ++matrix) {
    const int p0_at = matrix * 15;
    const int p1_at = matrix * 3;
    const int r0_at = matrix * 15;
    float w0[15];
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 5; ++i) w0[i + j * 5] = p0[p0_at + i + j * 5];
    #pragma unroll
    for (int k = 2; k >= 0; --k) {
      const float tau = p1[p1_at + k];
      for (int j = k + 1; j < 3; ++j) {
        float dot = w0[k + j * 5];
        for (int i = k + 1; i < 5; ++i) dot += w0[i + k * 5] * w0[i + j * 5];
        dot *= tau;
        w0[k + j * 5] -= dot;
        for (int i = k + 1; i < 5; ++i) w0[i + j * 5] -= dot * w0[i + k * 5];
      }
      for (int i = k + 1; i < 5; ++i) w0[i + k * 5] *= -tau;
      w0[k + k * 5] = 1 - tau;
      for (int i = 0; i < k; ++i) w0[i + k * 5] = 0;
    }
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 5; ++i) r0[r0_at + i + j * 5] = w0[i + j * 5];
  }
}
