// bench/scatter_f32.hlo: updates in order, 2 items, 128 of dimension 1 of the result each, prefetch 32 updates ahead
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_scatter_f32_part1(__global const int *restrict p1, __global const float *restrict p2, __global float *restrict r0)
{
  const int bl_x = (int)get_group_id(0);
  const int first = bl_x * 128;
  for (int i0 = 0; i0 < 16384; ++i0) {
    if (i0 <= 16351) {
      const int v_rows = p1[i0 + 32];
      if (v_rows >= 0 && v_rows <= 65535) {
        const int at0 = (int)v_rows;
        const int i1 = first;
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192 + 0);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192 + 16);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192 + 32);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192 + 48);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192 + 64);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192 + 80);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192 + 96);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192 + 112);
        PREFETCH_L2(r0 + at0 * 256 + i1 + 0);
        PREFETCH_L2(r0 + at0 * 256 + i1 + 16);
        PREFETCH_L2(r0 + at0 * 256 + i1 + 32);
        PREFETCH_L2(r0 + at0 * 256 + i1 + 48);
        PREFETCH_L2(r0 + at0 * 256 + i1 + 64);
        PREFETCH_L2(r0 + at0 * 256 + i1 + 80);
        PREFETCH_L2(r0 + at0 * 256 + i1 + 96);
        PREFETCH_L2(r0 + at0 * 256 + i1 + 112);
      }
    }
    const int v_rows = p1[i0];
    if (v_rows >= 0 && v_rows <= 65535) {
      const int at0 = (int)v_rows;
      {
        for (int i1 = first; i1 < first + 128; ++i1) {
          const float v_more = p2[i0 * 256 + i1];
          const int at = at0 * 256 + i1;
          const float v_old = r0[at];
          const float v_s = v_old + v_more;
          r0[at] = v_s;
        }
      }
    }
  }
}
