// tests/goldens/pad_between_f32.hlo: threads 1, 52 rows of 224, 1 a work-item
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_pad_between_f32(__global const float *restrict p0, __global const float *restrict p1, __global float *restrict r0)
{
  const int bl_x = (int)get_group_id(0);
  const float v_z = p1[0];
  const int first = bl_x * 1;
  const int end = first + 1;
  for (int row = first; row < end; ++row) {
    const int g0 = row;
    for (int k = 0; k < 224; ++k) r0[row * 224 + k] = v_z;
    if (g0 >= 1 && g0 <= 50) {
      const int i0 = g0 - 1;
      for (int i1 = 1; i1 <= 28; ++i1) {
        for (int i2 = 0; i2 <= 2; ++i2) {
          const float v_x = p0[i0 * 90 + i1 * 3 + i2];
          r0[i0 * 224 + i1 * 8 + i2 * 3 + 216] = v_x;
        }
      }
    }
  }
}
