// tests/goldens/topk_f32.hlo: 1 item of 3 rows, few
static inline uint sett_topk_f32_key(float x0)
{
  const float v_x = x0;
  const uint key = (4294967295u - ((uint)total_order_f32(v_x) + 2147483648u));
  return key;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_topk_f32(__global const float *restrict p0, __global float *restrict r0, __global int *restrict r1)
{
  const int first_row = 0;
  const int last_row = first_row + 3;
  for (int row = first_row; row < last_row; ++row) {
    const int at0 = row * 1000;
    const int at1 = row * 5;
    const int at2 = row * 5;
    uint key[5] = {0}, limit = ~(uint)0; // initialised because gcc does not see that all elements are written before they are read
    int place[5] = {0};
    int count = 0, x = 0;
    {
      uint least[64];
      for (int z = 0; z < 64; ++z) least[z] = sett_topk_f32_key(p0[at0 + z]);
      for (int x = 64; x <= 936; x += 64)
        for (int z = 0; z < 64; ++z) {
          const uint own = sett_topk_f32_key(p0[at0 + x + z]);
          least[z] = own < least[z] ? own : least[z];
        }
      for (int z = 0; z < 64; ++z)
        if (least[z] < limit) {
          const uint own = least[z];
          uint count_below = 0;
          for (int y = 0; y < 64; ++y) count_below += least[y] <= own;
          if (count_below >= 5) limit = own;
        }
    }
    for (; x <= 936; x += 64) {
      int some = 0;
      for (int z = 0; z < 64; ++z) some |= sett_topk_f32_key(p0[at0 + x + z]) <= limit;
      if (some)
        for (int w = x; w < x + 64; w += 16) {
          int any = 0;
          for (int z = 0; z < 16; ++z) any |= sett_topk_f32_key(p0[at0 + w + z]) <= limit;
          if (any) {
            int found[16], number = 0;
            for (int z = 0; z < 16; ++z) {
              found[number] = w + z;
              number += sett_topk_f32_key(p0[at0 + w + z]) <= limit;
            }
            for (int z = 0; z < number; ++z) {
              const uint own = sett_topk_f32_key(p0[at0 + found[z]]);
              if (own <= limit && (count < 5 || own < key[4])) {
                int at = count < 5 ? count++ : 4;
                for (; at > 0 && key[at - 1] > own; --at) {
                  key[at] = key[at - 1];
                  place[at] = place[at - 1];
                }
                key[at] = own;
                place[at] = (int)found[z];
                if (count == 5 && key[4] <= limit) limit = key[4] - (key[4] > 0);
              }
            }
          }
        }
    }
    for (; x < 1000; ++x) {
      const uint own = sett_topk_f32_key(p0[at0 + x]);
      if (own <= limit && (count < 5 || own < key[4])) {
        int at = count < 5 ? count++ : 4;
        for (; at > 0 && key[at - 1] > own; --at) {
          key[at] = key[at - 1];
          place[at] = place[at - 1];
        }
        key[at] = own;
        place[at] = (int)x;
        if (count == 5 && key[4] <= limit) limit = key[4] - (key[4] > 0);
      }
    }
    for (int z = 0; z < 5; ++z) {
      r0[at1 + z] = p0[at0 + place[z]];
      r1[at2 + z] = place[z];
    }
  }
}
