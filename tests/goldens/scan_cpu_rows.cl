// bench/cumsum_f32.hlo: scan of rows, threads 1, 16 rows a work-item, 1 x 16 elements a step, streamed
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_cumsum_f32(__global const float *restrict p0, __global float *restrict r0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint chunk = bl_x;
  for (uint row = chunk * 16; row < chunk * 16 + 16; ++row) {
    float16 a0 = (float16)(0.0f);
    for (uint step = 0; step < 256; ++step)
    {
      {
        const float16 v_x = *(const __global float16 *)(p0 + row * 4096 + step * 16);
        const float16 v_sum = on_1_float16(v_x, (float16)((-0.0f))) + v_x;
        const float16 v_sum_1 = on_2_float16(v_sum, (float16)((-0.0f))) + v_sum;
        const float16 v_sum_2 = on_4_float16(v_sum_1, (float16)((-0.0f))) + v_sum_1;
        const float16 v_sum_3 = on_8_float16(v_sum_2, (float16)((-0.0f))) + v_sum_2;
        const float16 v_sum_4 = a0 + v_sum_3;
        const float16 v_sum_5 = a0 + last_float16(v_sum_3);
        a0 = v_sum_5;
        STREAM(v_sum_4, (__global float16 *)(r0 + row * 4096 + step * 16));
      }
    }
  }
}
