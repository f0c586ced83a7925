// bench/tiles_bf16.hlo: threads 1, chunks 2, vec 2, lanes 16, streams 4, 2 rows interleaved, streamed, prefetch 2048/0 in bursts of 1, 4 steps fused, else (threads 1, chunks 32, vec 2, lanes 16, 2 rows interleaved, streamed, prefetch 32768 beyond the bytes read)
static void sett_tiles_bf16_from_rows(const uint16_t *restrict p0, uint16_t *restrict r0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  if (SETT_BURSTS) {
    for (uint32_t first = 0; first < 2; first += 1)
    for (uint32_t stream = 0; stream < 4; ++stream)
    {
      for (uint32_t chunk = first; chunk < first + 1; ++chunk) {
        PREFETCH_BURST_L2(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128, 2048);
        PREFETCH_BURST_L2(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128, 2112);
        PREFETCH_BURST_L2(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128, 2176);
        PREFETCH_BURST_L2(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128, 2240);
      }
      for (uint32_t chunk = first; chunk < first + 1; ++chunk) {
        PREFETCH_BURST_L2(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 16384, 2048);
        PREFETCH_BURST_L2(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 16384, 2112);
        PREFETCH_BURST_L2(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 16384, 2176);
        PREFETCH_BURST_L2(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 16384, 2240);
      }
      for (uint32_t chunk = first; chunk < first + 1; ++chunk) {
        ushort32 w_p0[8];
        ushort32 w_r0[8];
        w_p0[0] = *(ushort32 *)(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128);
        w_p0[2] = *(ushort32 *)(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 32);
        w_p0[4] = *(ushort32 *)(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 64);
        w_p0[6] = *(ushort32 *)(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 96);
        w_p0[1] = *(ushort32 *)(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 16384);
        w_p0[3] = *(ushort32 *)(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 16416);
        w_p0[5] = *(ushort32 *)(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 16448);
        w_p0[7] = *(ushort32 *)(p0 + (bl_x >> 6) * 16384 + bl_x * 256 + stream * 33554432 + chunk * 128 + 16480);
        interleave_u16_2(w_r0, w_p0);
        interleave_u16_2(w_r0 + 2, w_p0 + 2);
        interleave_u16_2(w_r0 + 4, w_p0 + 4);
        interleave_u16_2(w_r0 + 6, w_p0 + 6);
        STREAM(w_r0[0], (ushort32 *)(r0 + (bl_x & 63) * 2044 + (bl_x >> 8) * 130048 + bl_x * 4 + stream * 33554432 + chunk * 1024));
        STREAM(w_r0[1], (ushort32 *)(r0 + (bl_x & 63) * 2044 + (bl_x >> 8) * 130048 + bl_x * 4 + stream * 33554432 + chunk * 1024 + 32));
        STREAM(w_r0[2], (ushort32 *)(r0 + (bl_x & 63) * 2044 + (bl_x >> 8) * 130048 + bl_x * 4 + stream * 33554432 + chunk * 1024 + 64));
        STREAM(w_r0[3], (ushort32 *)(r0 + (bl_x & 63) * 2044 + (bl_x >> 8) * 130048 + bl_x * 4 + stream * 33554432 + chunk * 1024 + 96));
        STREAM(w_r0[4], (ushort32 *)(r0 + (bl_x & 63) * 2044 + (bl_x >> 8) * 130048 + bl_x * 4 + stream * 33554432 + chunk * 1024 + 128));
        STREAM(w_r0[5], (ushort32 *)(r0 + (bl_x & 63) * 2044 + (bl_x >> 8) * 130048 + bl_x * 4 + stream * 33554432 + chunk * 1024 + 160));
        STREAM(w_r0[6], (ushort32 *)(r0 + (bl_x & 63) * 2044 + (bl_x >> 8) * 130048 + bl_x * 4 + stream * 33554432 + chunk * 1024 + 192));
        STREAM(w_r0[7], (ushort32 *)(r0 + (bl_x & 63) * 2044 + (bl_x >> 8) * 130048 + bl_x * 4 + stream * 33554432 + chunk * 1024 + 224));
      }
    }
  }
  else {
    for (uint32_t chunk = 0; chunk < 32; ++chunk) {
      ushort32 w_p0[2];
      ushort32 w_r0[2];
      PREFETCH_L2(p0 + bl_x * 2048 + chunk * 64, 32768);
      PREFETCH_L2(p0 + bl_x * 2048 + chunk * 64 + 32, 32768);
      w_p0[0] = *(ushort32 *)(p0 + (bl_x >> 4) * 16384 + bl_x * 1024 + chunk * 32);
      w_p0[1] = *(ushort32 *)(p0 + (bl_x >> 4) * 16384 + bl_x * 1024 + chunk * 32 + 16384);
      interleave_u16_2(w_r0, w_p0);
      STREAM(w_r0[0], (ushort32 *)(r0 + ((bl_x & 15) * 8176 + (bl_x >> 6) * 130048 + bl_x * 16 + chunk * 256 - (chunk & 3) * 192)));
      STREAM(w_r0[1], (ushort32 *)(r0 + ((bl_x & 15) * 8176 + (bl_x >> 6) * 130048 + bl_x * 16 + chunk * 256 + 32 - (chunk & 3) * 192)));
    }
  }
}
