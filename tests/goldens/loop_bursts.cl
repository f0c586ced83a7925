// bench/tiles_bf16.hlo: threads 16, chunks 2, vec 2, lanes 16, streams 4, 2 rows interleaved, streamed, prefetch 2048/0 in bursts of 1, 4 steps fused, else (threads 16, chunks 32, vec 2, lanes 16, 2 rows interleaved, streamed, prefetch 32768 beyond the bytes read)
__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void sett_tiles_bf16_from_rows(__global const ushort *restrict p0, __global ushort *restrict r0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint th_x = (uint)get_local_id(0);
  if (SETT_BURSTS) {
    for (uint first = 0; first < 2; first += 1)
    for (uint stream = 0; stream < 4; ++stream)
    {
      for (uint chunk = first; chunk < first + 1; ++chunk) {
        PREFETCH_BURST_L2(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 1024);
        PREFETCH_BURST_L2(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 1056);
        PREFETCH_BURST_L2(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 1088);
        PREFETCH_BURST_L2(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 1120);
      }
      for (uint chunk = first; chunk < first + 1; ++chunk) {
        PREFETCH_BURST_L2(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 16384 + 1024);
        PREFETCH_BURST_L2(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 16384 + 1056);
        PREFETCH_BURST_L2(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 16384 + 1088);
        PREFETCH_BURST_L2(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 16384 + 1120);
      }
      for (uint chunk = first; chunk < first + 1; ++chunk) {
        ushort32 w_p0[8];
        ushort32 w_r0[8];
        w_p0[0] = *(__global ushort32 *)(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128);
        w_p0[2] = *(__global ushort32 *)(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 32);
        w_p0[4] = *(__global ushort32 *)(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 64);
        w_p0[6] = *(__global ushort32 *)(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 96);
        w_p0[1] = *(__global ushort32 *)(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 16384);
        w_p0[3] = *(__global ushort32 *)(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 16416);
        w_p0[5] = *(__global ushort32 *)(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 16448);
        w_p0[7] = *(__global ushort32 *)(p0 + (bl_x >> 2) * 16384 + th_x * 256 + bl_x * 4096 + stream * 33554432 + chunk * 128 + 16480);
        interleave_u16_2(w_r0, w_p0);
        interleave_u16_2(w_r0 + 2, w_p0 + 2);
        interleave_u16_2(w_r0 + 4, w_p0 + 4);
        interleave_u16_2(w_r0 + 6, w_p0 + 6);
        STREAM(w_r0[0], (__global ushort32 *)(r0 + (bl_x & 3) * 32704 + (bl_x >> 4) * 130048 + th_x * 2048 + bl_x * 64 + stream * 33554432 + chunk * 1024));
        STREAM(w_r0[1], (__global ushort32 *)(r0 + (bl_x & 3) * 32704 + (bl_x >> 4) * 130048 + th_x * 2048 + bl_x * 64 + stream * 33554432 + chunk * 1024 + 32));
        STREAM(w_r0[2], (__global ushort32 *)(r0 + (bl_x & 3) * 32704 + (bl_x >> 4) * 130048 + th_x * 2048 + bl_x * 64 + stream * 33554432 + chunk * 1024 + 64));
        STREAM(w_r0[3], (__global ushort32 *)(r0 + (bl_x & 3) * 32704 + (bl_x >> 4) * 130048 + th_x * 2048 + bl_x * 64 + stream * 33554432 + chunk * 1024 + 96));
        STREAM(w_r0[4], (__global ushort32 *)(r0 + (bl_x & 3) * 32704 + (bl_x >> 4) * 130048 + th_x * 2048 + bl_x * 64 + stream * 33554432 + chunk * 1024 + 128));
        STREAM(w_r0[5], (__global ushort32 *)(r0 + (bl_x & 3) * 32704 + (bl_x >> 4) * 130048 + th_x * 2048 + bl_x * 64 + stream * 33554432 + chunk * 1024 + 160));
        STREAM(w_r0[6], (__global ushort32 *)(r0 + (bl_x & 3) * 32704 + (bl_x >> 4) * 130048 + th_x * 2048 + bl_x * 64 + stream * 33554432 + chunk * 1024 + 192));
        STREAM(w_r0[7], (__global ushort32 *)(r0 + (bl_x & 3) * 32704 + (bl_x >> 4) * 130048 + th_x * 2048 + bl_x * 64 + stream * 33554432 + chunk * 1024 + 224));
      }
    }
  }
  else {
    for (uint chunk = 0; chunk < 32; ++chunk) {
      ushort32 w_p0[2];
      ushort32 w_r0[2];
      PREFETCH_L2(p0 + th_x * 2048 + bl_x * 32768 + chunk * 64 + 16384);
      PREFETCH_L2(p0 + th_x * 2048 + bl_x * 32768 + chunk * 64 + 32 + 16384);
      w_p0[0] = *(__global ushort32 *)(p0 + th_x * 1024 + bl_x * 32768 + chunk * 32);
      w_p0[1] = *(__global ushort32 *)(p0 + th_x * 1024 + bl_x * 32768 + chunk * 32 + 16384);
      interleave_u16_2(w_r0, w_p0);
      STREAM(w_r0[0], (__global ushort32 *)(r0 + (bl_x >> 2) * 130048 + (chunk >> 2) * 768 + th_x * 8192 + bl_x * 256 + chunk * 64));
      STREAM(w_r0[1], (__global ushort32 *)(r0 + (bl_x >> 2) * 130048 + (chunk >> 2) * 768 + th_x * 8192 + bl_x * 256 + chunk * 64 + 32));
    }
  }
}
