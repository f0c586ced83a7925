// tests/goldens/softmax_f32.hlo: threads 1, a row at a time, 1 times, 4 accumulators of 16, 256 registers of each kept value
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_softmax_f32(__global const float *restrict p0, __global float *restrict r0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint chunk = bl_x;
  float16 kept0[256];
  for (uint block = chunk * 1; block < chunk * 1 + 1; ++block)
  {
    float of_row0[1];
    float of_row1[1];
    // stage 0
    float t0;
    {
      float16 a0[4];
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        a0[vec] = (float16)(as_float(0xff800000u));
      }
      {
        {
          for (uint step = 0; step < 64; ++step)
          {
            #pragma unroll
            for (uint vec = 0; vec < 4; ++vec) {
              const float16 v_v0 = *(const __global float16 *)(p0 + block * 4096 + step * 64 + vec * 16);
              const float16 v_r = (v_v0 == v_v0) ? ((v_v0 > a0[vec]) ? v_v0 : a0[vec]) : v_v0;
              a0[vec] = v_r;
            }
          }
        }
      }
      #pragma unroll
      for (uint vec = 1; vec < 4; ++vec) {
        const float16 v_r = (a0[vec] == a0[vec]) ? ((a0[vec] > a0[0]) ? a0[vec] : a0[0]) : a0[vec];
        a0[0] = v_r;
      }
      {
        // fold pairs of lanes, until lane 0 is the total of all
        float x0[16];
        for (uint turn = 0; turn < 4; ++turn) {
          const float16 even0 = even_f32(a0[0], a0[0]);
          const float16 odd0 = odd_f32(a0[0], a0[0]);
          const float16 v_r = (odd0 == odd0) ? ((odd0 > even0) ? odd0 : even0) : odd0;
          a0[0] = v_r;
        }
        vstore16(a0[0], 0, x0);
        t0 = x0[0];
      }
    }
    {
      of_row0[0] = t0;
    }
    // stage 1
    float t1;
    {
      float16 a1[4];
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        a1[vec] = (float16)(0.0f);
      }
      float16 sum1[4];
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        sum1[vec] = (float16)(0.0f);
      }
      {
        // steps are added in groups of 8: the rounding error is smaller than that of one long sum
        for (uint turn = 0; turn < 64; turn += 8) {
          const uint end = turn + 8;
          for (uint step = turn; step < end; ++step)
          {
            {
              PREFETCH_L2(p0 + block * 4096 + step * 64 + 4096);
              PREFETCH_L2(p0 + block * 4096 + step * 64 + 4112);
              PREFETCH_L2(p0 + block * 4096 + step * 64 + 4128);
              PREFETCH_L2(p0 + block * 4096 + step * 64 + 4144);
            }
            {
              #pragma unroll
              for (uint vec = 0; vec < 4; ++vec) {
                const float16 v_v0 = *(const __global float16 *)(p0 + block * 4096 + step * 64 + vec * 16);
                const float16 v_v4 = v_v0 - (float16)(of_row0[0]);
                const float16 v_v5 = exp_floats(v_v4);
                kept0[step * 4 + vec] = v_v5;
                const float16 v_r = a1[vec] + v_v5;
                a1[vec] = v_r;
              }
            }
          }
          #pragma unroll
          for (uint vec = 0; vec < 4; ++vec) {
            {
              const float16 v_r = sum1[vec] + a1[vec];
              sum1[vec] = v_r;
            }
            a1[vec] = (float16)(0.0f);
          }
        }
      }
      #pragma unroll
      for (uint vec = 0; vec < 4; ++vec) {
        const float16 v_r = sum1[vec] + a1[vec];
        a1[vec] = v_r;
      }
      #pragma unroll
      for (uint vec = 1; vec < 4; ++vec) {
        const float16 v_r = a1[0] + a1[vec];
        a1[0] = v_r;
      }
      {
        // fold pairs of lanes, until lane 0 is the total of all
        float x1[16];
        for (uint turn = 0; turn < 4; ++turn) {
          const float16 even1 = even_f32(a1[0], a1[0]);
          const float16 odd1 = odd_f32(a1[0], a1[0]);
          const float16 v_r = even1 + odd1;
          a1[0] = v_r;
        }
        vstore16(a1[0], 0, x1);
        t1 = x1[0];
      }
    }
    {
      of_row1[0] = t1;
    }
    // stage 2
    {
      {
        {
          for (uint step = 0; step < 64; ++step)
          {
            #pragma unroll
            for (uint vec = 0; vec < 4; ++vec) {
              const float16 v_v9 = quotient_floats(kept0[step * 4 + vec], (float16)(of_row1[0]));
              STORE(v_v9, (__global float16 *)(r0 + block * 4096 + step * 64 + vec * 16));
            }
          }
        }
      }
    }
  }
}
