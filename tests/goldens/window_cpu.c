// tests/goldens/box_f32.hlo: rows of 100, threads 1, 1 rows a work-item, vectors of 16 in columns 2 to 97
static void sett_box_f32(const float *restrict p0, float *restrict r0, size_t number)
{
  const int32_t bl_x = (int32_t)number;
  const int32_t chunk = bl_x;
  for (int32_t g0 = chunk * 1; g0 < chunk * 1 + 1; ++g0) {
    for (int32_t column = 0; column < 2; ++column)
    {
      float v_y = 0.0f;
      for (int32_t s0 = 0; s0 < 3; ++s0) {
        for (int32_t s1 = 0; s1 < 5; ++s1) {
          if (2 <= column + s1 && column + s1 <= 101 && 1 <= g0 + s0 && g0 + s0 <= 40) {
            const float v_x = p0[(g0 + s0) * 100 + column + s1 - 102];
            const float v_sum = v_y + v_x;
            v_y = v_sum;
          }
        }
      }
      r0[g0 * 100 + column] = v_y;
    }
    for (int32_t column = 98; column < 100; ++column)
    {
      float v_y = 0.0f;
      for (int32_t s0 = 0; s0 < 3; ++s0) {
        for (int32_t s1 = 0; s1 < 5; ++s1) {
          if (2 <= column + s1 && column + s1 <= 101 && 1 <= g0 + s0 && g0 + s0 <= 40) {
            const float v_x = p0[(g0 + s0) * 100 + column + s1 - 102];
            const float v_sum = v_y + v_x;
            v_y = v_sum;
          }
        }
      }
      r0[g0 * 100 + column] = v_y;
    }
    for (int32_t step = 0; step < 5; ++step)
    {
      float16 v_y = splat_float16(0.0f);
      for (int32_t s0 = 0; s0 < 3; ++s0) {
        for (int32_t s1 = 0; s1 < 5; ++s1) {
          if (1 <= g0 + s0 && g0 + s0 <= 40) {
            const float16 v_x = load_float16(p0 + ((g0 + s0) * 100 + step * 16 + s1 - 86));
            const float16 v_sum = v_y + v_x;
            v_y = v_sum;
          }
        }
      }
      store_float16(v_y, r0 + g0 * 100 + step * 16 + 16);
    }
    {
      float16 v_y = splat_float16(0.0f);
      for (int32_t s0 = 0; s0 < 3; ++s0) {
        for (int32_t s1 = 0; s1 < 5; ++s1) {
          if (1 <= g0 + s0 && g0 + s0 <= 40) {
            const float16 v_x = load_float16(p0 + ((g0 + s0) * 100 + s1 - 100));
            const float16 v_sum = v_y + v_x;
            v_y = v_sum;
          }
        }
      }
      store_float16(v_y, r0 + g0 * 100 + 2);
    }
    {
      float16 v_y = splat_float16(0.0f);
      for (int32_t s0 = 0; s0 < 3; ++s0) {
        for (int32_t s1 = 0; s1 < 5; ++s1) {
          if (1 <= g0 + s0 && g0 + s0 <= 40) {
            const float16 v_x = load_float16(p0 + ((g0 + s0) * 100 + s1 - 20));
            const float16 v_sum = v_y + v_x;
            v_y = v_sum;
          }
        }
      }
      store_float16(v_y, r0 + g0 * 100 + 82);
    }
  }
}
