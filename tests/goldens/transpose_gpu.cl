// tests/kernels/transpose_f32.hlo: threads 256, tile 32 x 32, vec 4, tile_p0 in rows of 33 words of 4 bytes: 1-way (rows of 32: 8-way)
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sett_transpose_f32(__global const float *restrict p0, __global float *restrict r0)
{
  __local float tile_p0[1056];
  const uint bl_x = (uint)get_group_id(0);
  const uint th_x = (uint)get_local_id(0);
  const uint row_tile = bl_x >> 6;
  const uint lane_tile = bl_x & 63;
  // load along rows
  {
    union { uint4 all; float at[4]; } w_p0;
    w_p0.all = *(const __global uint4 *)(p0 + (th_x >> 3) * 2016 + row_tile * 32 + lane_tile * 65536 + th_x * 4);
    tile_p0[(th_x * 33) >> 3] = w_p0.at[0];
    tile_p0[(th_x * 33 + 8) >> 3] = w_p0.at[1];
    tile_p0[(th_x * 33 + 16) >> 3] = w_p0.at[2];
    tile_p0[(th_x * 33 + 24) >> 3] = w_p0.at[3];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // read elements from the tiles, compute, and store: adjacent lanes access adjacent elements
  {
    union { uint4 word[1]; float at[4]; } w_r0;
    #pragma unroll
    for (uint vec = 0; vec < 4; ++vec) {
      const float v_x = tile_p0[th_x * 132 + vec * 33 - (th_x >> 3) * 1055];
      const float v_n = -v_x;
      w_r0.at[vec] = v_n;
    }
    *(__global uint4 *)(r0 + (th_x >> 3) * 2016 + row_tile * 65536 + lane_tile * 32 + th_x * 4) = w_r0.word[0];
  }
}
