// tests/kernels/row_sum_f32.hlo: rows, threads 1, 16 accumulators of 16, 4 streams, 16 rows folded together, 4 times
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_row_sum_f32(__global const float *restrict p0, __global float *restrict r0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint chunk = bl_x;
  for (uint block = chunk * 4; block < chunk * 4 + 4; ++block)
  {
    float16 b0[64];
    for (uint row = 0; row < 16; ++row) {
      float16 a0[16];
      #pragma unroll
      for (uint vec = 0; vec < 16; ++vec) {
        a0[vec] = (float16)(0.0f);
      }
      {
        for (uint step = 0; step < 16; ++step)
        #pragma unroll
        for (uint stream = 0; stream < 4; ++stream)
        {
          {
            PREFETCH_SUM_L2(p0 + stream * 2097152 + block * 16384 + row * 1024 + step * 64 + 512);
            PREFETCH_SUM_L2(p0 + stream * 2097152 + block * 16384 + row * 1024 + step * 64 + 528);
            PREFETCH_SUM_L2(p0 + stream * 2097152 + block * 16384 + row * 1024 + step * 64 + 544);
            PREFETCH_SUM_L2(p0 + stream * 2097152 + block * 16384 + row * 1024 + step * 64 + 560);
          }
          {
            #pragma unroll
            for (uint vec = 0; vec < 4; ++vec) {
              const float16 v_x = *(const __global float16 *)(p0 + stream * 2097152 + block * 16384 + row * 1024 + step * 64 + vec * 16);
              const float16 v_sum = a0[stream * 4 + vec] + v_x;
              a0[stream * 4 + vec] = v_sum;
            }
          }
        }
      }
      // fold the row's vectors into one
      #pragma unroll
      for (uint stream = 0; stream < 4; ++stream)
      {
        #pragma unroll
        for (uint vec = 1; vec < 4; ++vec) {
          const float16 v_sum = a0[stream * 4] + a0[stream * 4 + vec];
          a0[stream * 4] = v_sum;
        }
        b0[stream * 16 + row] = a0[stream * 4];
      }
    }
    // fold the lanes of 16 vectors into one vector
    for (uint stream = 0; stream < 4; ++stream)
    {
      const float16 *rows0 = b0 + stream * 16;
      float16 half8_0[8];
      #pragma unroll
      for (uint vec = 0; vec < 8; ++vec) {
        const float16 even0 = even_f32(rows0[2 * vec], rows0[2 * vec + 1]);
        const float16 odd0 = odd_f32(rows0[2 * vec], rows0[2 * vec + 1]);
        const float16 v_sum = even0 + odd0;
        half8_0[vec] = v_sum;
      }
      float16 half4_0[4];
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        const float16 even0 = even_f32(half8_0[2 * vec], half8_0[2 * vec + 1]);
        const float16 odd0 = odd_f32(half8_0[2 * vec], half8_0[2 * vec + 1]);
        const float16 v_sum = even0 + odd0;
        half4_0[vec] = v_sum;
      }
      float16 half2_0[2];
      #pragma unroll
      for (uint vec = 0; vec < 2; ++vec) {
        const float16 even0 = even_f32(half4_0[2 * vec], half4_0[2 * vec + 1]);
        const float16 odd0 = odd_f32(half4_0[2 * vec], half4_0[2 * vec + 1]);
        const float16 v_sum = even0 + odd0;
        half2_0[vec] = v_sum;
      }
      float16 t0[1];
      #pragma unroll
      for (uint vec = 0; vec < 1; ++vec) {
        const float16 even0 = even_f32(half2_0[2 * vec], half2_0[2 * vec + 1]);
        const float16 odd0 = odd_f32(half2_0[2 * vec], half2_0[2 * vec + 1]);
        const float16 v_sum = even0 + odd0;
        t0[vec] = v_sum;
      }
      {
        STORE(t0[0], (__global float16 *)(r0 + stream * 2048 + block * 16));
      }
    }
  }
}
