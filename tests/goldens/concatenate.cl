// bench/concatenate_f32.hlo: 2 parts: (threads 16, chunks 64, vec 1, lanes 16, streams 4, streamed, prefetch 4096/0 in bursts of 8), (threads 16, chunks 64, vec 1, lanes 16, streams 4, streamed, prefetch 4096/0 in bursts of 8)
__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void sett_concatenate_f32(__global const float *restrict p0, __global const float *restrict p1, __global float *restrict r0)
{
  if (get_group_id(0) < 64) { // part 0
    const uint bl_x = (uint)get_group_id(0);
    const uint th_x = (uint)get_local_id(0);
    for (uint first = 0; first < 64; first += 8)
    for (uint stream = 0; stream < 4; ++stream)
    {
      for (uint chunk = first; chunk < first + 8; ++chunk) {
        PREFETCH_BURST_L2(p0 + th_x * 1024 + bl_x * 16384 + stream * 1048576 + chunk * 16 + 1024);
      }
      for (uint chunk = first; chunk < first + 8; ++chunk) {
        const float16 v_a = *(const __global float16 *)(p0 + th_x * 1024 + bl_x * 16384 + stream * 1048576 + chunk * 16);
        STREAM(v_a, (__global float16 *)(r0 + th_x * 4096 + bl_x * 65536 + stream * 4194304 + chunk * 16));
      }
    }
  }
  else { // part 1
    const uint bl_x = (uint)get_group_id(0) - 64;
    const uint th_x = (uint)get_local_id(0);
    for (uint first = 0; first < 64; first += 8)
    for (uint stream = 0; stream < 4; ++stream)
    {
      for (uint chunk = first; chunk < first + 8; ++chunk) {
        PREFETCH_BURST_L2(p1 + th_x * 1024 + bl_x * 16384 + stream * 3145728 + chunk * 16 + 1024);
      }
      for (uint chunk = first; chunk < first + 8; ++chunk) {
        const float16 v_b = *(const __global float16 *)(p1 + th_x * 1024 + bl_x * 16384 + stream * 3145728 + chunk * 16);
        STREAM(v_b, (__global float16 *)(r0 + ((th_x * 4 + bl_x * 64 + 3) / 3) * 1024 + stream * 4194304 + chunk * 16));
      }
    }
  }
}
