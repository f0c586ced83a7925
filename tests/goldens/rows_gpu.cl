// tests/goldens/softmax_f32.hlo: threads 512: 1 rows x 512 to fold, vec 4, 2 steps, 16 registers hold a row
__kernel __attribute__((reqd_work_group_size(512, 1, 1))) void sett_softmax_f32(__global const float *restrict p0, __global float *restrict r0)
{
  __local float shared0[512];
  __local float row_shared0[1];
  __local float shared1[512];
  __local float row_shared1[1];
  const uint bl_x = (uint)get_group_id(0);
  const uint th_x = (uint)get_local_id(0);
  const uint g0 = bl_x;
  const uint f = th_x;
  float held0[8];
  float kept0[8];
  float of_row0 = 0;
  float of_row1 = 0;
  // stage 0
  float a0[1] = {as_float(0xff800000u)};
  {
    #pragma unroll
    for (uint step = 0; step < 2; ++step) {
      union { uint4 word[1]; float at[4]; } w_p0;
      w_p0.word[0] = *(const __global uint4 *)(p0 + g0 * 4096 + f * 4 + step * 2048);
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        const float v_v0 = w_p0.at[vec];
        held0[step * 4 + vec] = v_v0;
        const float v_r = maximum_f32(a0[0], v_v0);
        a0[0] = v_r;
      }
    }
  }
  shared0[th_x] = a0[0];
  for (uint many = 512, apart; many > 1; many = apart) {
    barrier(CLK_LOCAL_MEM_FENCE);
    apart = (many + 1) / 2;
    if (f + apart < many) {
      const float other0 = shared0[th_x + apart];
      const float v_r = maximum_f32(a0[0], other0);
      a0[0] = v_r;
      shared0[th_x] = a0[0];
    }
  }
  if (f == 0) {
    row_shared0[0] = a0[0];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float t0 = row_shared0[0];
  {
    of_row0 = t0;
  }
  // stage 1
  float a1[1] = {0.0f};
  {
    #pragma unroll
    for (uint step = 0; step < 2; ++step) {
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        const float v_v4 = held0[step * 4 + vec] - of_row0;
        const float v_v5 = exp(v_v4);
        kept0[step * 4 + vec] = v_v5;
        const float v_r = a1[0] + v_v5;
        a1[0] = v_r;
      }
    }
  }
  shared1[th_x] = a1[0];
  for (uint many = 512, apart; many > 1; many = apart) {
    barrier(CLK_LOCAL_MEM_FENCE);
    apart = (many + 1) / 2;
    if (f + apart < many) {
      const float other1 = shared1[th_x + apart];
      const float v_r = a1[0] + other1;
      a1[0] = v_r;
      shared1[th_x] = a1[0];
    }
  }
  if (f == 0) {
    row_shared1[0] = a1[0];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float t1 = row_shared1[0];
  {
    of_row1 = t1;
  }
  // stage 2
  {
    #pragma unroll
    for (uint step = 0; step < 2; ++step) {
      union { uint4 word[1]; float at[4]; } w_r0;
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        const float v_v9 = kept0[step * 4 + vec] / of_row1;
        w_r0.at[vec] = v_v9;
      }
      *(__global uint4 *)(r0 + g0 * 4096 + f * 4 + step * 2048) = w_r0.word[0];
    }
  }
}
