// tests/kernels/add_f32.hlo: threads 16, chunks 64, vec 1, lanes 16, streams 4, streamed, prefetch 4096/0 in bursts of 8
__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void sett_add_f32(__global const float *restrict p0, __global const float *restrict p1, __global float *restrict r0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint th_x = (uint)get_local_id(0);
  for (uint first = 0; first < 64; first += 8)
  for (uint stream = 0; stream < 4; ++stream)
  {
    for (uint chunk = first; chunk < first + 8; ++chunk) {
      PREFETCH_BURST_L2(p0 + th_x * 1024 + bl_x * 16384 + stream * 4194304 + chunk * 16 + 1024);
    }
    for (uint chunk = first; chunk < first + 8; ++chunk) {
      PREFETCH_BURST_L2(p1 + th_x * 1024 + bl_x * 16384 + stream * 4194304 + chunk * 16 + 1024);
    }
    for (uint chunk = first; chunk < first + 8; ++chunk) {
      const float16 v_a = *(const __global float16 *)(p0 + th_x * 1024 + bl_x * 16384 + stream * 4194304 + chunk * 16);
      const float16 v_b = *(const __global float16 *)(p1 + th_x * 1024 + bl_x * 16384 + stream * 4194304 + chunk * 16);
      const float16 v_sum = v_a + v_b;
      STREAM(v_sum, (__global float16 *)(r0 + th_x * 1024 + bl_x * 16384 + stream * 4194304 + chunk * 16));
    }
  }
}
