// tests/goldens/column_cummax_f32.hlo: scan of columns, threads 1, 1 rows a work-item, 3 registers of 16 columns
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_column_cummax_f32(__global const float *restrict p0, __global float *restrict r0)
{
  for (uint row = 0; row < 1; ++row) {
    float16 a0[3];
    for (uint vec = 0; vec < 3; ++vec)
      a0[vec] = (float16)(as_float(0xff800000u));
    float16 e0 = (float16)(as_float(0xff800000u));
    for (uint place = 40; place-- > 0;)
    {
      for (uint vec = 0; vec < 3; ++vec) {
        const float16 v_x = load_f32_16(p0 + place * 50 + vec * 16);
        const float16 v_max = (a0[vec] == a0[vec]) ? ((a0[vec] > v_x) ? a0[vec] : v_x) : a0[vec];
        a0[vec] = v_max;
        store_f32_16(v_max, r0 + place * 50 + vec * 16);
      }
      {
        const float16 v_x = load_f32_16(p0 + place * 50 + 34);
        const float16 v_max = (e0 == e0) ? ((e0 > v_x) ? e0 : v_x) : e0;
        e0 = v_max;
        store_f32_16(v_max, r0 + place * 50 + 34);
      }
    }
  }
}
