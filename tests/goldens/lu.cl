// tests/goldens/lu_f32.hlo: threads 1, 100 matrices, 3 a work-item, in local arrays
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_lu_f32(__global const float *restrict p0, __global float *restrict r0, __global int *restrict r1, __global int *restrict r2)
{
  const int bl_x = (int)get_group_id(0);
  const int first = bl_x * 3, last = first + 3;
  const int end = last < 100 ? last : 100;
  for (int matrix = first; matrix < end; ++matrix) {
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
      float most = fabs(w0[k + k * 3]);
      for (int i = k + 1; i < 3; ++i) {
        const float size = fabs(w0[i + k * 3]);
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
