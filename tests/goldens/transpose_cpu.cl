// tests/kernels/transpose_f32.hlo: threads 1, tiles 64, tile 16 x 32 in registers, prefetch 512 in each row where bursts are off, streamed
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_transpose_f32(__global const float *restrict p0, __global float *restrict r0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint part = bl_x >> 6;
  const uint g1 = bl_x & 63;
  for (uint g0 = part * 64; g0 < part * 64 + 64; ++g0) {
    uint16 w_p0[32];
    load_u32_16x16_prefetch128(w_p0, (const __global uint *)(p0 + g0 * 16 + g1 * 65536), 2048);
    load_u32_16x16_prefetch128(w_p0 + 16, (const __global uint *)(p0 + g0 * 16 + g1 * 65536 + 32768), 2048);
    #pragma unroll
    for (uint vec = 0; vec < 16; ++vec) {
      #pragma unroll
      for (uint down = 0; down < 2; ++down) {
        const float16 v_x = as_float16(w_p0[down * 16 + vec]);
        const float16 v_n = -v_x;
        STREAM(v_n, (__global float16 *)(r0 + g0 * 32768 + g1 * 32 + vec * 2048 + down * 16));
      }
    }
  }
}
