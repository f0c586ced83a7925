// tests/goldens/topk_f32.hlo: 1 item of 3 rows, heap
static inline uint32_t sett_topk_f32_key(float x0)
{
  const float v_x = x0;
  const uint32_t key = (4294967295u - ((uint32_t)total_order_f32(v_x) + 2147483648u));
  return key;
}

static void sett_topk_f32(const float *restrict p0, uint32_t *restrict q0, int32_t *restrict q1, float *restrict r0, int32_t *restrict r1, size_t number)
{
  (void)number;
  uint32_t *const key = q0;
  int32_t *const place = q1;
  const int32_t first_row = 0;
  const int32_t last_row = first_row + 3;
  for (int32_t row = first_row; row < last_row; ++row) {
    const int32_t at0 = row * 1000;
    const int32_t at1 = row * 5;
    const int32_t at2 = row * 5;
    for (int32_t x = 0; x < 5; ++x) {
      key[x] = sett_topk_f32_key(p0[at0 + x]);
      place[x] = (int32_t)x;
    }
    for (int32_t x = 2; x-- > 0;) {
      const uint32_t own = key[x];
      const int32_t y = place[x];
      int32_t at = x;
      for (int32_t child; (child = 2 * at + 1) < 5; at = child) {
        if (child + 1 < 5 && (key[child + 1] > key[child] || (key[child + 1] == key[child] && place[child + 1] > place[child]))) ++child;
        if (key[child] < own || (key[child] == own && place[child] < y)) break;
        key[at] = key[child];
        place[at] = place[child];
      }
      key[at] = own;
      place[at] = y;
    }
    int32_t x = 5;
    for (; x <= 936; x += 64) {
      const uint32_t top = key[0];
      int some = 0;
      for (int z = 0; z < 64; ++z) some |= sett_topk_f32_key(p0[at0 + x + z]) < top;
      if (some)
        for (int z = 0; z < 64; ++z) {
          const uint32_t own = sett_topk_f32_key(p0[at0 + x + z]);
          if (own < key[0]) {
            const int32_t y = (int32_t)x + z;
            int32_t at = 0;
            for (int32_t child; (child = 2 * at + 1) < 5; at = child) {
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
      const uint32_t own = sett_topk_f32_key(p0[at0 + x]);
      if (own < key[0]) {
        const int32_t y = (int32_t)x;
        int32_t at = 0;
        for (int32_t child; (child = 2 * at + 1) < 5; at = child) {
          if (child + 1 < 5 && (key[child + 1] > key[child] || (key[child + 1] == key[child] && place[child + 1] > place[child]))) ++child;
          if (key[child] < own || (key[child] == own && place[child] < y)) break;
          key[at] = key[child];
          place[at] = place[child];
        }
        key[at] = own;
        place[at] = y;
      }
    }
    for (int32_t end = 4; end > 0; --end) {
      const uint32_t own = key[end];
      const int32_t y = place[end];
      key[end] = key[0];
      place[end] = place[0];
      int32_t at = 0;
      for (int32_t child; (child = 2 * at + 1) < end; at = child) {
        if (child + 1 < end && (key[child + 1] > key[child] || (key[child + 1] == key[child] && place[child + 1] > place[child]))) ++child;
        if (key[child] < own || (key[child] == own && place[child] < y)) break;
        key[at] = key[child];
        place[at] = place[child];
      }
      key[at] = own;
      place[at] = y;
    }
    for (int32_t z = 0; z < 5; ++z) {
      r0[at1 + z] = p0[at0 + place[z]];
      r1[at2 + z] = place[z];
    }
  }
}
