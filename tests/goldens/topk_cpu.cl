// tests/goldens/topk_f32.hlo: 1 item of 3 rows, heap
static inline uint sett_topk_f32_key(float x0)
{
  const float v_x = x0;
  const uint key = (4294967295u - ((uint)total_order_f32(v_x) + 2147483648u));
  return key;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_topk_f32(__global const float *restrict p0, __global uint *restrict q0, __global int *restrict q1, __global float *restrict r0, __global int *restrict r1)
{
  __global uint *const key = q0;
  __global int *const place = q1;
  const int first_row = 0;
  const int last_row = first_row + 3;
  for (int row = first_row; row < last_row; ++row) {
    const int at0 = row * 1000;
    const int at1 = row * 5;
    const int at2 = row * 5;
    for (int x = 0; x < 5; ++x) {
      key[x] = sett_topk_f32_key(p0[at0 + x]);
      place[x] = (int)x;
    }
    for (int x = 2; x-- > 0;) {
      const uint own = key[x];
      const int y = place[x];
      int at = x;
      for (int child; (child = 2 * at + 1) < 5; at = child) {
        if (child + 1 < 5 && (key[child + 1] > key[child] || (key[child + 1] == key[child] && place[child + 1] > place[child]))) ++child;
        if (key[child] < own || (key[child] == own && place[child] < y)) break;
        key[at] = key[child];
        place[at] = place[child];
      }
      key[at] = own;
      place[at] = y;
    }
    int x = 5;
    for (; x <= 936; x += 64) {
      const uint top = key[0];
      int some = 0;
      for (int z = 0; z < 64; ++z) some |= sett_topk_f32_key(p0[at0 + x + z]) < top;
      if (some)
        for (int z = 0; z < 64; ++z) {
          const uint own = sett_topk_f32_key(p0[at0 + x + z]);
          if (own < key[0]) {
            const int y = (int)x + z;
            int at = 0;
            for (int child; (child = 2 * at + 1) < 5; at = child) {
              if (child + 1 < 5 && (key[child + 1] > key[child] || (key[child + 1] == key[child] && place[child + 1] > place[child]))) ++child;
              if (key[child] < own || (key[child] == own && place[child] < y)) break;
              key[at] = key[child];
              place[at] = place[child];
            }
            key[at] = own;
            place[at] = y;
          }
        }
    }
    for (; x < 1000; ++x) {
      const uint own = sett_topk_f32_key(p0[at0 + x]);
      if (own < key[0]) {
        const int y = (int)x;
        int at = 0;
        for (int child; (child = 2 * at + 1) < 5; at = child) {
          if (child + 1 < 5 && (key[child + 1] > key[child] || (key[child + 1] == key[child] && place[child + 1] > place[child]))) ++child;
          if (key[child] < own || (key[child] == own && place[child] < y)) break;
          key[at] = key[child];
          place[at] = place[child];
        }
        key[at] = own;
        place[at] = y;
      }
    }
    for (int end = 4; end > 0; --end) {
      const uint own = key[end];
      const int y = place[end];
      key[end] = key[0];
      place[end] = place[0];
      int at = 0;
      for (int child; (child = 2 * at + 1) < end; at = child) {
        if (child + 1 < end && (key[child + 1] > key[child] || (key[child + 1] == key[child] && place[child + 1] > place[child]))) ++child;
        if (key[child] < own || (key[child] == own && place[child] < y)) break;
        key[at] = key[child];
        place[at] = place[child];
      }
      key[at] = own;
      place[at] = y;
    }
    for (int z = 0; z < 5; ++z) {
      r0[at1 + z] = p0[at0 + place[z]];
      r1[at2 + z] = place[z];
    }
  }
}
