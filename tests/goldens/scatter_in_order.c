// bench/scatter_f32.hlo: updates in order, 2 items, 128 of dimension 1 of the result each, prefetch 32 updates ahead
static void sett_scatter_f32_part1(const int32_t *restrict p1, const float *restrict p2, float *restrict r0, size_t number)
{
  const int32_t bl_x = (int32_t)number;
  const int32_t first = bl_x * 128;
  for (int32_t i0 = 0; i0 < 16384; ++i0) {
    if (i0 <= 16351) {
      const int32_t v_rows = p1[i0 + 32];
      if (v_rows >= 0 && v_rows <= 65535) {
        const int32_t at0 = (int32_t)v_rows;
        const int32_t i1 = first;
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192, 0);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192, 64);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192, 128);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192, 192);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192, 256);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192, 320);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192, 384);
        PREFETCH_L2(p2 + i0 * 256 + i1 + 8192, 448);
        PREFETCH_L2(r0 + at0 * 256 + i1, 0);
        PREFETCH_L2(r0 + at0 * 256 + i1, 64);
        PREFETCH_L2(r0 + at0 * 256 + i1, 128);
        PREFETCH_L2(r0 + at0 * 256 + i1, 192);
        PREFETCH_L2(r0 + at0 * 256 + i1, 256);
        PREFETCH_L2(r0 + at0 * 256 + i1, 320);
        PREFETCH_L2(r0 + at0 * 256 + i1, 384);
        PREFETCH_L2(r0 + at0 * 256 + i1, 448);
      }
    }
    const int32_t v_rows = p1[i0];
    if (v_rows >= 0 && v_rows <= 65535) {
      const int32_t at0 = (int32_t)v_rows;
      {
        for (int32_t i1 = first; i1 < first + 128; ++i1) {
          const float v_more = p2[i0 * 256 + i1];
          const int32_t at = at0 * 256 + i1;
          const float v_old = r0[at];
          const float v_s = v_old + v_more;
          r0[at] = v_s;
        }
      }
    }
  }
}
