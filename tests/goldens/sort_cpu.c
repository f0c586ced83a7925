// tests/goldens/sort_f32.hlo: 1 item of 3 rows, words, digits of 9 bits
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
  return ((uint64_t)(bits0 ^ (((uint32_t)0 - (bits0 >> 31)) | 2147483648u)) << 32) | (uint64_t)bits1;
}

static inline float sett_sort_f32_part0(uint64_t w)
{
  const uint32_t x = (uint32_t)(w >> 32);
  return float_of_bits((x ^ (((x >> 31) - 1) | 2147483648u)));
}

static inline int32_t sett_sort_f32_part1(uint64_t w)
{
  const uint32_t x = (uint32_t)(w);
  return (int32_t)(uint32_t)x;
}

static void sett_sort_f32(const float *restrict p0, const int32_t *restrict p1, float *restrict r0, int32_t *restrict r1, size_t number)
{
  (void)number;
  const int32_t first_row = 0;
  const int32_t last_row = first_row + 3;
  for (int32_t row = first_row; row < last_row; ++row) {
    const int32_t at0 = row * 100;
    const int32_t at1 = row * 100;
    const int32_t at2 = row * 100;
    const int32_t at3 = row * 100;
    uint64_t words_held[100];
    uint64_t *words = words_held;
    for (int32_t x = 0; x < 100; ++x) words[x] = sett_sort_f32_word(p0[at0 + x], p1[at1 + x]);
    {
      uint64_t least = words[0], most = least;
      for (int32_t x = 0; x < 100; ++x) {
        const uint64_t w = words[x];
        least = w < least ? w : least;
        most = w > most ? w : most;
      }
      int bits = 0;
      for (uint64_t left = (most >> 32) - (least >> 32); left != 0; left >>= 1) ++bits;
      const uint64_t lowest = least >> 32 << 32;
      const int passes = (bits + 9 - 1) / 9, width = passes > 0 ? (bits + passes - 1) / passes : 0;
      const uint64_t mask = ((uint64_t)1 << width) - 1;
      for (int pass = 0; pass < passes; pass += 2) {
        const int low = 32 + pass * width, high = pass + 1 < passes ? low + width : low;
        uint32_t count[2][512], below[2] = {0, 0};
        for (int digit = 0; digit <= (int)mask; ++digit) count[0][digit] = count[1][digit] = 0;
        UNROLL_FEW
        for (int32_t x = 0; x < 100; ++x) {
          const uint64_t more = words[x] - lowest;
          ++count[0][more >> low & mask];
          ++count[1][more >> high & mask];
        }
        for (int digit = 0; digit <= (int)mask; ++digit) {
          const uint32_t of_low = count[0][digit], of_high = count[1][digit];
          count[0][digit] = below[0];
          count[1][digit] = below[1];
          below[0] += of_low;
          below[1] += of_high;
        }
        UNROLL_FEW
        for (int32_t x = 0; x < 100; ++x) {
          const uint64_t w = words[x];
          const int32_t y = (int32_t)count[0][(w - lowest) >> low & mask]++;
          r0[at2 + y] = sett_sort_f32_part0(w);
          r1[at3 + y] = sett_sort_f32_part1(w);
        }
        if (high == low) break;
        UNROLL_FEW
        for (int32_t x = 0; x < 100; ++x) {
          const uint64_t w = sett_sort_f32_word(r0[at2 + x], r1[at3 + x]);
          words[count[1][(w - lowest) >> high & mask]++] = w;
        }
      }
      if (passes % 2 == 0)
        for (int32_t x = 0; x < 100; ++x) {
          const uint64_t w = words[x];
          r0[at2 + x] = sett_sort_f32_part0(w);
          r1[at3 + x] = sett_sort_f32_part1(w);
        }
    }
  }
}
