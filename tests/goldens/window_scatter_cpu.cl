// tests/goldens/pool_gradient_f32.hlo: threads 1, 12 of dimension 0 of the result a work-item
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_pool_gradient_f32_part1(__global const float *restrict p1, __global const int *restrict q0, __global float *restrict r0)
{
  const int bl_x = (int)get_group_id(0);
  const int first = bl_x * 12;
  const int end = first + 12 < 128 ? first + 12 : 128;
  for (int k = first * 80; k < end * 80; ++k) r0[k] = 0.0f;
  for (int i0 = (bl_x * 6 - 1 > 0 ? bl_x * 6 - 1 : 0); i0 < (bl_x * 6 + 6 < 63 ? bl_x * 6 + 6 : 63); ++i0) {
    for (int i1 = 0; i1 < 40; ++i1) {
      const int v_r_choice = q0[i0 * 40 + i1];
      const int w = v_r_choice;
      if (w < 6) {
        const int row = i0 * 2 + (w >> 1);
        if (row < first || row >= end) continue;
        const float v_g = p1[i0 * 40 + i1];
        const int at = (w >> 1) * 78 + i0 * 160 + i1 * 2 + w;
        const float v_old = r0[at];
        const float v_s = v_g + v_old;
        r0[at] = v_s;
      }
    }
  }
}
