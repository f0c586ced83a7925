// tests/goldens/sort_f32.hlo: tiles of 128, 64 threads
static inline uint sett_sort_f32_key0(float x0)
{
  const float v_x = x0;
  const uint key = ((uint)total_order_f32(v_x) + 2147483648u);
  return key;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sett_sort_f32(__global const float *restrict p0, __global const int *restrict p1, __global float *restrict r0, __global int *restrict r1)
{
  const int bl_x = (int)get_group_id(0);
  const int th_x = (int)get_local_id(0);
  __local uint key0[128];
  __local int place[128];
  const int row = bl_x;
  const int at0 = row * 100;
  const int at1 = row * 100;
  const int at2 = row * 100;
  const int at3 = row * 100;
  for (int x = th_x; x < 128; x += 64) {
    const int y = x;
    const int inside = y < 100;
    key0[x] = inside ? sett_sort_f32_key0(p0[at0 + y]) : ~(uint)0;
    place[x] = inside ? (int)y : 0x7fffffff;
  }
  for (int span = 2; span <= 128; span *= 2)
    for (int step = span / 2; step > 0; step /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int pair = (int)th_x; pair < 64; pair += 64) {
        const int x = 2 * pair - (pair & (step - 1)), y = x + step;
        const int sorted = (key0[x] < key0[y] || (key0[x] == key0[y] && place[x] < place[y]));
        if (sorted != ((x & span) == 0)) {
          const uint swap0 = key0[x];
          key0[x] = key0[y];
          key0[y] = swap0;
          const int swap = place[x];
          place[x] = place[y];
          place[y] = swap;
        }
      }
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int x = th_x; x < 100; x += 64) {
    if (x < 100) {
      const int y = (int)place[x];
      r0[at2 + x] = p0[at0 + y];
      r1[at3 + x] = p1[at1 + y];
    }
  }
}
