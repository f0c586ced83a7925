// tests/kernels/column_max_bf16.hlo: columns, threads 1, 4 accumulators of 16
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_column_max_bf16(__global const ushort *restrict p0, __global ushort *restrict r0)
{
  {
    float16 a0[4];
    #pragma unroll
    for (uint vec = 0; vec < 4; ++vec) {
      a0[vec] = (float16)(as_float(0xff800000u));
    }
    float16 e0[1];
    #pragma unroll
    for (uint vec = 0; vec < 1; ++vec) {
      e0[vec] = (float16)(as_float(0xff800000u));
    }
    for (uint g0 = 0; g0 < 50; ++g0)
    {
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        const float16 v_x = as_float16(convert_uint16(load_bf16_16(p0 + g0 * 70 + vec * 16)) << 16);
        const float16 v_m = (v_x == v_x) ? ((v_x > a0[vec]) ? v_x : a0[vec]) : v_x;
        a0[vec] = v_m;
      }
      {
        const float16 v_x = as_float16(convert_uint16(load_bf16_16(p0 + g0 * 70 + 54)) << 16);
        const float16 v_m = (v_x == v_x) ? ((v_x > e0[0]) ? v_x : e0[0]) : v_x;
        e0[0] = v_m;
      }
    }
    {
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        const float16 v_total = round_bf16_16(a0[vec]);
        STORE(convert_ushort16(as_uint16(v_total) >> 16), (__global ushort16 *)(r0 + vec * 16));
      }
    }
    {
      const float16 v_total = round_bf16_16(e0[0]);
      store_bf16_16(convert_ushort16(as_uint16(v_total) >> 16), r0 + 54);
    }
  }
}
