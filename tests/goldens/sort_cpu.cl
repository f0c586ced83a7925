// tests/goldens/sort_f32.hlo: 1 item of 3 rows, words, digits of 9 bits
static inline uint sett_sort_f32_key(float x0)
{
  const float v_x = x0;
  const uint key = ((uint)total_order_f32(v_x) + 2147483648u);
  return key;
}

static inline ulong sett_sort_f32_word(float x0, int x1)
{
  const uint bits0 = as_uint(x0);
  const uint bits1 = (uint)x1;
  return ((ulong)(bits0 ^ (((uint)0 - (bits0 >> 31)) | 2147483648u)) << 32) | (ulong)bits1;
}

static inline float sett_sort_f32_part0(ulong w)
{
  const uint x = (uint)(w >> 32);
  return as_float((x ^ (((x >> 31) - 1) | 2147483648u)));
}

static inline int sett_sort_f32_part1(ulong w)
{
  const uint x = (uint)(w);
  return (int)(uint)x;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_sort_f32(__global const float *restrict p0, __global const int *restrict p1, __global float *restrict r0, __global int *restrict r1)
{
  const int first_row = 0;
  const int last_row = first_row + 3;
  for (int row = first_row; row < last_row; ++row) {
    const int at0 = row * 100;
    const int at1 = row * 100;
    const int at2 = row * 100;
    const int at3 = row * 100;
    ulong words_held[100];
    ulong *words = words_held;
    for (int x = 0; x < 100; ++x) words[x] = sett_sort_f32_word(p0[at0 + x], p1[at1 + x]);
    {
      ulong least = words[0], most = least;
      for (int x = 0; x < 100; ++x) {
        const ulong w = words[x];
        least = w < least ? w : least;
        most = w > most ? w : most;
      }
      int bits = 0;
      for (ulong left = (most >> 32) - (least >> 32); left != 0; left >>= 1) ++bits;
      const ulong lowest = least >> 32 << 32;
      const int passes = (bits + 9 - 1) / 9, width = passes > 0 ? (bits + passes - 1) / passes : 0;
      const ulong mask = ((ulong)1 << width) - 1;
      for (int pass = 0; pass < passes; pass += 2) {
        const int low = 32 + pass * width, high = pass + 1 < passes ? low + width : low;
        uint count[2][512], below[2] = {0, 0};
        for (int digit = 0; digit <= (int)mask; ++digit) count[0][digit] = count[1][digit] = 0;
        #pragma unroll 4
        for (int x = 0; x < 100; ++x) {
          const ulong more = words[x] - lowest;
          ++count[0][more >> low & mask];
          ++count[1][more >> high & mask];
        }
        for (int digit = 0; digit <= (int)mask; ++digit) {
          const uint of_low = count[0][digit], of_high = count[1][digit];
          count[0][digit] = below[0];
          count[1][digit] = below[1];
          below[0] += of_low;
          below[1] += of_high;
        }
        #pragma unroll 4
        for (int x = 0; x < 100; ++x) {
          const ulong w = words[x];
          const int y = (int)count[0][(w - lowest) >> low & mask]++;
          r0[at2 + y] = sett_sort_f32_part0(w);
          r1[at3 + y] = sett_sort_f32_part1(w);
        }
        if (high == low) break;
        #pragma unroll 4
        for (int x = 0; x < 100; ++x) {
          const ulong w = sett_sort_f32_word(r0[at2 + x], r1[at3 + x]);
          words[count[1][(w - lowest) >> high & mask]++] = w;
        }
      }
      if (passes % 2 == 0)
        for (int x = 0; x < 100; ++x) {
          const ulong w = words[x];
          r0[at2 + x] = sett_sort_f32_part0(w);
          r1[at3 + x] = sett_sort_f32_part1(w);
        }
    }
  }
}
