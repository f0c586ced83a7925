// tests/goldens/sorted_f32.hlo: threads 128, chunks 1, vec 1, compare and swap: may differ between runs in the order that updates of one element are taken; sorted: 8 rows a thread, one operation for those of one place
static inline void sett_sorted_f32_part1_combine0(__global float *pointer, uint at, float update)
{
  volatile __global uint *const word = (volatile __global uint *)pointer + at;
  uint seen = atomic_cmpxchg(word, 0, 0), was;
  do {
    was = seen;
    const float v_old = as_float(was);
    const float v_s = v_old + update;
    seen = atomic_cmpxchg(word, was, as_uint(v_s));
  } while (seen != was);
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void sett_sorted_f32_part1(__global const int *restrict p1, __global const float *restrict p2, __global float *restrict r0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint th_x = (uint)get_local_id(0);
  int some = 0;
  uint last = 0;
  float sum = 0.0f;
  for (uint step = 0; step < 8; ++step) {
    {
      const int v_rows = p1[(th_x >> 4) * 8 + bl_x * 64 + step];
      if (v_rows >= 0 && v_rows <= 63) {
        const uint at0 = (uint)v_rows;
        const float v_more = p2[(th_x >> 4) * 112 + bl_x * 1024 + step * 16 + th_x];
        const uint at = at0 * 16 + (th_x & 15);
        if (some && at == last) {
          const float v_s = sum + v_more;
          sum = v_s;
        }
        else {
          if (some) {
            sett_sorted_f32_part1_combine0(r0, last, sum);
          }
          last = at;
          sum = v_more;
          some = 1;
        }
      }
    }
  }
  if (some) {
    sett_sorted_f32_part1_combine0(r0, last, sum);
  }
}
