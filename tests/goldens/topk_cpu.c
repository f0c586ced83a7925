// tests/goldens/topk_f32.hlo: 1 item of 3 rows, few
static inline uint32_t sett_topk_f32_key(float x0)
{
  const float v_x = x0;
  const uint32_t key = (4294967295u - ((uint32_t)total_order_f32(v_x) + 2147483648u));
  return key;
}

static void sett_topk_f32(const float *restrict p0, float *restrict r0, int32_t *restrict r1, size_t number)
{
  (void)number;
  const int32_t first_row = 0;
  const int32_t last_row = first_row + 3;
  for (int32_t row = first_row; row < last_row; ++row) {
    const int32_t at0 = row * 1000;
    const int32_t at1 = row * 5;
    const int32_t at2 = row * 5;
    uint32_t key[5] = {0}, limit = ~(uint32_t)0; // initialised because gcc does not see that all elements are written before they are read
    int32_t place[5] = {0};
    int32_t count = 0, x = 0;
    {
      uint32_t least[64];
      for (int z = 0; z < 64; ++z) least[z] = sett_topk_f32_key(p0[at0 + z]);
      for (int32_t x = 64; x <= 936; x += 64)
        for (int z = 0; z < 64; ++z) {
          const uint32_t own = sett_topk_f32_key(p0[at0 + x + z]);
          least[z] = own < least[z] ? own : least[z];
        }
      for (int z = 0; z < 64; ++z)
        if (least[z] < limit) {
          const uint32_t own = least[z];
          uint32_t count_below = 0;
          for (int y = 0; y < 64; ++y) count_below += least[y] <= own;
          if (count_below >= 5) limit = own;
        }
    }
    for (; x <= 936; x += 64) {
      int some = 0;
      for (int z = 0; z < 64; ++z) some |= sett_topk_f32_key(p0[at0 + x + z]) <= limit;
      if (some)
        for (int32_t w = x; w < x + 64; w += 16) {
          int any = 0;
          for (int z = 0; z < 16; ++z) any |= sett_topk_f32_key(p0[at0 + w + z]) <= limit;
          if (any) {
            int32_t found[16], number = 0;
            for (int z = 0; z < 16; ++z) {
              found[number] = w + z;
              number += sett_topk_f32_key(p0[at0 + w + z]) <= limit;
            }
            for (int32_t z = 0; z < number; ++z) {
              const uint32_t own = sett_topk_f32_key(p0[at0 + found[z]]);
              if (own <= limit && (count < 5 || own < key[4])) {
                int32_t at = count < 5 ? count++ : 4;
                for (; at > 0 && key[at - 1] > own; --at) {
                  key[at] = key[at - 1];
                  place[at] = place[at - 1];
                }
                key[at] = own;
                place[at] = (int32_t)found[z];
                if (count == 5 && key[4] <= limit) limit = key[4] - (key[4] > 0);
              }
            }
          }
        }
    }
    for (; x < 1000; ++x) {
      const uint32_t own = sett_topk_f32_key(p0[at0 + x]);
      if (own <= limit && (count < 5 || own < key[4])) {
        int32_t at = count < 5 ? count++ : 4;
        for (; at > 0 && key[at - 1] > own; --at) {
          key[at] = key[at - 1];
          place[at] = place[at - 1];
        }
        key[at] = own;
        place[at] = (int32_t)x;
        if (count == 5 && key[4] <= limit) limit = key[4] - (key[4] > 0);
      }
    }
    for (int32_t z = 0; z < 5; ++z) {
      r0[at1 + z] = p0[at0 + place[z]];
      r1[at2 + z] = place[z];
    }
  }
}
