// bench/transpose_10_odd_f32.hlo: threads 1, tile 16 x 16 in registers, 2 down where bursts of prefetches pay, lines carried down 256 columns, prefetch 512 in each row where bursts are off, streamed, moved as bits
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_transpose_10_odd_f32(__global const float *restrict p0, __global float *restrict r0)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint block = bl_x;
  const uint tiles = 16;
  uint16 carry[272];
  uint k = 1;
  const uint end = 63;
  for (uint j = 0; j < tiles; ++j) {
    uint16 x[16];
    load_u32_16x16_by32_prefetch128(x, (const __global uint *)(p0 + (block * 256 + j * 16)), 4097);
    first1_u32_16_1023_1023((__global uint *)(r0 + (block * 261888 + j * 16368)), carry + j * 16, x);
  }
  if (block == 15) {
    uint16 x[16];
    load_u32_16x16_by32_prefetch128(x, (const __global uint *)(p0 + (4081)), 4097);
    first1_u32_16_1023_1023_from15((__global uint *)(r0 + (4174863)), carry + 256, x);
  }
  for (; SETT_BURSTS && k + 2 <= end; k += 2) {
    for (uint j = 0; j < tiles; ++j) {
      uint16 x[32];
      load_u32_16x16_by32_prefetch128(x, (const __global uint *)(p0 + (block * 256 + j * 16 + k * 65552)), 4097);
      load_u32_16x16_by32_prefetch128(x + 16, (const __global uint *)(p0 + (block * 256 + j * 16 + k * 65552 + 65552)), 4097);
      next2_u32_16_1023_1023((__global uint *)(r0 + (block * 261888 + j * 16368 + k * 16)), carry + j * 16, x);
    }
    if (block == 15) {
      uint16 x[32];
      load_u32_16x16_by32_prefetch128(x, (const __global uint *)(p0 + (k * 65552 + 4081)), 4097);
      load_u32_16x16_by32_prefetch128(x + 16, (const __global uint *)(p0 + (k * 65552 + 69633)), 4097);
      next2_u32_16_1023_1023_from15((__global uint *)(r0 + (k * 16 + 4174863)), carry + 256, x);
    }
  }
  for (; k < end; ++k) {
    for (uint j = 0; j < tiles; ++j) {
      uint16 x[16];
      load_u32_16x16_by32_prefetch128(x, (const __global uint *)(p0 + (block * 256 + j * 16 + k * 65552)), 4097);
      next1_u32_16_1023_1023((__global uint *)(r0 + (block * 261888 + j * 16368 + k * 16)), carry + j * 16, x);
    }
    if (block == 15) {
      uint16 x[16];
      load_u32_16x16_by32_prefetch128(x, (const __global uint *)(p0 + (k * 65552 + 4081)), 4097);
      next1_u32_16_1023_1023_from15((__global uint *)(r0 + (k * 16 + 4174863)), carry + 256, x);
    }
  }
  {
    for (uint j = 0; j < tiles; ++j) {
      uint16 x[16];
      load_u32_16x16_by32_prefetch128(x, (const __global uint *)(p0 + (block * 256 + j * 16 + 4125679)), 4097);
      last1_u32_16_1023_1023((__global uint *)(r0 + (block * 261888 + j * 16368 + 992)), carry + j * 16, x);
    }
    if (block == 15) {
      uint16 x[16];
      load_u32_16x16_by32_prefetch128(x, (const __global uint *)(p0 + (4129760)), 4097);
      last1_u32_16_1023_1023_from15((__global uint *)(r0 + (4175855)), carry + 256, x);
    }
  }
}
