// tests/kernels/row_sum_f32.hlo: threads 256: 4 rows x 64 to fold x 1 across, vec 4
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sett_row_sum_f32(__global const float *restrict p0, __global float *restrict r0)
{
  __local float shared0[256];
  const uint bl_x = (uint)get_group_id(0);
  const uint th_x = (uint)get_local_id(0);
  const uint g0 = bl_x * 4 + (th_x >> 6);
  const uint f = th_x & 63;
  float a0[4];
  #pragma unroll
  for (uint vec = 0; vec < 4; ++vec) {
    a0[vec] = 0.0f;
  }
  // the thread's own steps
  {
    #pragma unroll
    for (uint step = 0; step < 4; ++step) {
      union { uint4 word[1]; float at[4]; } w_p0;
      w_p0.word[0] = *(const __global uint4 *)(p0 + g0 * 1024 + f * 4 + step * 256);
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        const float v_x = w_p0.at[vec];
        const float v_sum = a0[vec] + v_x;
        a0[vec] = v_sum;
      }
    }
    #pragma unroll
    for (uint slot = 1; slot < 4; ++slot) {
      const float other0 = a0[slot];
      const float v_sum = a0[0] + other0;
      a0[0] = v_sum;
    }
  }
  // fold halves through shared memory; the threads of one result are all inside or all outside
  {
    shared0[th_x] = a0[0];
  }
  for (uint many = 64, apart; many > 1; many = apart) {
    barrier(CLK_LOCAL_MEM_FENCE);
    apart = (many + 1) / 2;
    if (f + apart < many) {
      {
        const float other0 = shared0[th_x + apart];
        const float v_sum = a0[0] + other0;
        a0[0] = v_sum;
      }
      {
        shared0[th_x] = a0[0];
      }
    }
  }
  if (f == 0) {
    r0[g0] = a0[0];
  }
}
