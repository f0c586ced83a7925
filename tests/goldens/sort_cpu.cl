// tests/goldens/sort_f32.hlo: 1 item of 3 rows, words, else indices, digits of 8 bits
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
  return ((ulong)(bits0 >= 2147483648u ? 4294967295u - bits0 : bits0 + 2147483648u) << 32) | (ulong)bits1;
}

static inline float sett_sort_f32_part0(ulong w)
{
  const uint x = (uint)(w >> 32);
  return as_float((x >= 2147483648u ? x - 2147483648u : 4294967295u - x));
}

static inline int sett_sort_f32_part1(ulong w)
{
  const uint x = (uint)(w);
  return (int)(uint)x;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_sort_f32(__global const float *restrict p0, __global const int *restrict p1, __global ulong *restrict q0, __global ulong *restrict q1, __global float *restrict r0, __global int *restrict r1)
{
  const int first_row = 0;
  const int last_row = first_row + 3;
  for (int row = first_row; row < last_row; ++row) {
    const int at0 = row * 100;
    const int at1 = row * 100;
    const int at2 = row * 100;
    const int at3 = row * 100;
    __global ulong *from = q0;
    __global ulong *to = q1;
    __global ulong *word_from = (__global ulong *)from;
    __global ulong *word_to = (__global ulong *)to;
    for (int x = 0; x < 100; ++x) {
      const ulong w = sett_sort_f32_word(p0[at0 + x], p1[at1 + x]);
      word_from[x] = w;
    }
    {
      uint count[4][256];
      for (int pass = 0; pass < 4; ++pass)
        for (int digit = 0; digit < 256; ++digit) count[pass][digit] = 0;
      for (int x = 0; x < 100; ++x) {
        const ulong w = word_from[x];
        ++count[0][w >> 32 & 255];
        ++count[1][w >> 40 & 255];
        ++count[2][w >> 48 & 255];
        ++count[3][w >> 56 & 255];
      }
      for (int pass = 0; pass < 4; ++pass) {
        uint *const place = count[pass];
        const int shift = 8 * pass + 32;
        if (place[word_from[0] >> shift & 255] == 100) continue;
        uint sum = 0;
        for (int digit = 0; digit < 256; ++digit) {
          const uint many = place[digit];
          place[digit] = sum;
          sum += many;
        }
        for (int x = 0; x < 100; ++x) {
          const ulong w = word_from[x];
          const uint y = place[w >> shift & 255]++;
          word_to[y] = w;
        }
        __global ulong *const swap = word_from;
        word_from = word_to;
        word_to = swap;
      }
      for (int x = 0; x < 100; ++x) {
        const ulong w = word_from[x];
        r0[at2 + x] = sett_sort_f32_part0(w);
        r1[at3 + x] = sett_sort_f32_part1(w);
      }
    }
  }
}
