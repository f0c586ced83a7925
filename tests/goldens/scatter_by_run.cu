// tests/goldens/sorted_f32.hlo: threads 128, chunks 1, vec 1, atomicAdd: may differ between runs in the order that updates of one element are taken, subnormals of f32 are zero; sorted: 4 rows a thread, one operation for those of one place
extern "C" __global__ __launch_bounds__(128) void sett_sorted_f32_part1(const int *__restrict__ p1, const float *__restrict__ p2, float *__restrict__ r0)
{
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  int some = 0;
  unsigned last = 0;
  float sum = 0.0f;
  for (unsigned step = 0; step < 4; ++step) {
    {
      int v_rows = p1[(th_x >> 4) * 4 + bl_x * 32 + step];
      if (v_rows >= 0 && v_rows <= 63) {
        const unsigned at0 = (unsigned)v_rows;
        float v_more = p2[(th_x >> 4) * 48 + bl_x * 512 + step * 16 + th_x];
        const unsigned at = at0 * 16 + (th_x & 15);
        if (some && at == last) {
          float v_s = sum + v_more;
          sum = v_s;
        }
        else {
          if (some) {
            atomicAdd((float *)(r0 + last), (float)sum);
          }
          last = at;
          sum = v_more;
          some = 1;
        }
      }
    }
  }
  if (some) {
    atomicAdd((float *)(r0 + last), (float)sum);
  }
}
