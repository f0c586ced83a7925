// bench/scatter_f32.hlo: threads 128, chunks 1, vec 1, atomicAdd: may differ between runs in the order that updates of one element are taken, subnormals of f32 are zero
extern "C" __global__ __launch_bounds__(128) void sett_scatter_f32_part1(const int *__restrict__ p1, const float *__restrict__ p2, float *__restrict__ r0)
{
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  {
    int v_rows = p1[bl_x >> 1];
    if (v_rows >= 0 && v_rows <= 65535) {
      const unsigned at0 = (unsigned)v_rows;
      float v_more = p2[bl_x * 128 + th_x];
      const unsigned at = (bl_x & 1) * 128 + at0 * 256 + th_x;
      atomicAdd((float *)(r0 + at), (float)v_more);
    }
  }
}
