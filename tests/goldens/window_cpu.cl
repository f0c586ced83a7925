// tests/goldens/box_f32.hlo: rows of 100, threads 1, 1 rows a work-item, vectors of 16 in columns 2 to 97
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_box_f32(__global const float *restrict p0, __global float *restrict r0)
{
  const int bl_x = (int)get_group_id(0);
  const int chunk = bl_x;
  for (int g0 = chunk * 1; g0 < chunk * 1 + 1; ++g0) {
    for (int column = 0; column < 2; ++column)
    {
      float v_y = 0.0f;
      for (int s0 = 0; s0 < 3; ++s0) {
        for (int s1 = 0; s1 < 5; ++s1) {
          if (2 <= column + s1 && column + s1 <= 101 && 1 <= g0 + s0 && g0 + s0 <= 40) {
            const float v_x = p0[(g0 + s0) * 100 + column + s1 - 102];
            const float v_sum = v_y + v_x;
            v_y = v_sum;
          }
        }
      }
      r0[g0 * 100 + column] = v_y;
    }
    for (int column = 98; column < 100; ++column)
    {
      float v_y = 0.0f;
      for (int s0 = 0; s0 < 3; ++s0) {
        for (int s1 = 0; s1 < 5; ++s1) {
          if (2 <= column + s1 && column + s1 <= 101 && 1 <= g0 + s0 && g0 + s0 <= 40) {
            const float v_x = p0[(g0 + s0) * 100 + column + s1 - 102];
            const float v_sum = v_y + v_x;
            v_y = v_sum;
          }
        }
      }
      r0[g0 * 100 + column] = v_y;
    }
    for (int step = 0; step < 5; ++step)
    {
      float16 v_y = (float16)(0.0f);
      for (int s0 = 0; s0 < 3; ++s0) {
        for (int s1 = 0; s1 < 5; ++s1) {
          if (1 <= g0 + s0 && g0 + s0 <= 40) {
            const float16 v_x = load_f32_16(p0 + ((g0 + s0) * 100 + step * 16 + s1 - 86));
            const float16 v_sum = v_y + v_x;
            v_y = v_sum;
          }
        }
      }
      store_f32_16(v_y, r0 + g0 * 100 + step * 16 + 16);
    }
    {
      float16 v_y = (float16)(0.0f);
      for (int s0 = 0; s0 < 3; ++s0) {
        for (int s1 = 0; s1 < 5; ++s1) {
          if (1 <= g0 + s0 && g0 + s0 <= 40) {
            const float16 v_x = load_f32_16(p0 + ((g0 + s0) * 100 + s1 - 100));
            const float16 v_sum = v_y + v_x;
            v_y = v_sum;
          }
        }
      }
      store_f32_16(v_y, r0 + g0 * 100 + 2);
    }
    {
      float16 v_y = (float16)(0.0f);
      for (int s0 = 0; s0 < 3; ++s0) {
        for (int s1 = 0; s1 < 5; ++s1) {
          if (1 <= g0 + s0 && g0 + s0 <= 40) {
            const float16 v_x = load_f32_16(p0 + ((g0 + s0) * 100 + s1 - 20));
            const float16 v_sum = v_y + v_x;
            v_y = v_sum;
          }
        }
      }
      store_f32_16(v_y, r0 + g0 * 100 + 82);
    }
  }
}
