// tests/goldens/sort_f32.hlo: 1 item of 3 rows, words, else indices, digits of 8 bits
static inline uint32_t sett_sort_f32_key(float x0)
{
  const float v_x = x0;
  const uint32_t key = ((uint32_t)total_order_f32(v_x) + 2147483648u);
  return key;
}

static inline uint64_t sett_sort_f32_word(float x0, int32_t x1)
{
  const uint32_t bits0 = bits_of_float(x0);
  const uint32_t bits1 = (uint32_t)x1;
  return ((uint64_t)(bits0 >= 2147483648u ? 4294967295u - bits0 : bits0 + 2147483648u) << 32) | (uint64_t)bits1;
}

static inline float sett_sort_f32_part0(uint64_t w)
{
  const uint32_t x = (uint32_t)(w >> 32);
  return float_of_bits((x >= 2147483648u ? x - 2147483648u : 4294967295u - x));
}

static inline int32_t sett_sort_f32_part1(uint64_t w)
{
  const uint32_t x = (uint32_t)(w);
  return (int32_t)(uint32_t)x;
}

static void sett_sort_f32(const float *restrict p0, const int32_t *restrict p1, uint64_t *restrict q0, uint64_t *restrict q1, float *restrict r0, int32_t *restrict r1, size_t number)
{
  (void)number;
  const int32_t first_row = 0;
  const int32_t last_row = first_row + 3;
  for (int32_t row = first_row; row < last_row; ++row) {
    const int32_t at0 = row * 100;
    const int32_t at1 = row * 100;
    const int32_t at2 = row * 100;
    const int32_t at3 = row * 100;
    uint64_t *from = q0;
    uint64_t *to = q1;
    uint64_t *word_from = (uint64_t *)from;
    uint64_t *word_to = (uint64_t *)to;
    for (int32_t x = 0; x < 100; ++x) {
      const uint64_t w = sett_sort_f32_word(p0[at0 + x], p1[at1 + x]);
      word_from[x] = w;
    }
    {
      uint32_t count[4][256];
      for (int pass = 0; pass < 4; ++pass)
        for (int digit = 0; digit < 256; ++digit) count[pass][digit] = 0;
      for (int32_t x = 0; x < 100; ++x) {
        const uint64_t w = word_from[x];
        ++count[0][w >> 32 & 255];
        ++count[1][w >> 40 & 255];
        ++count[2][w >> 48 & 255];
        ++count[3][w >> 56 & 255];
      }
      for (int pass = 0; pass < 4; ++pass) {
        uint32_t *const place = count[pass];
        const int shift = 8 * pass + 32;
        if (place[word_from[0] >> shift & 255] == 100) continue;
        uint32_t sum = 0;
        for (int digit = 0; digit < 256; ++digit) {
          const uint32_t many = place[digit];
          place[digit] = sum;
          sum += many;
        }
        for (int32_t x = 0; x < 100; ++x) {
          const uint64_t w = word_from[x];
          const uint32_t y = place[w >> shift & 255]++;
          word_to[y] = w;
        }
        uint64_t *const swap = word_from;
        word_from = word_to;
        word_to = swap;
      }
      for (int32_t x = 0; x < 100; ++x) {
        const uint64_t w = word_from[x];
        r0[at2 + x] = sett_sort_f32_part0(w);
        r1[at3 + x] = sett_sort_f32_part1(w);
      }
    }
  }
}
