// tests/kernels/transpose_f32.hlo: threads 256, tile 32 x 32, vec 4, tile_p0 in rows of 33 words of 4 bytes: 1-way (rows of 32: 8-way)
template <bool aligned> static __global__ __launch_bounds__(256) void sett_transpose_f32(const float *__restrict__ p0, float *__restrict__ r0)
{
  __shared__ float tile_p0[1056];
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  const unsigned row_tile = bl_x >> 6;
  const unsigned lane_tile = bl_x & 63;
  // load along rows
  {
    union { uint4 all; float at[4]; } w_p0;
    load_word<aligned>(w_p0.all, p0 + ((th_x >> 3) * 2016 + row_tile * 32 + lane_tile * 65536 + th_x * 4));
    tile_p0[(th_x * 33) >> 3] = w_p0.at[0];
    tile_p0[(th_x * 33 + 8) >> 3] = w_p0.at[1];
    tile_p0[(th_x * 33 + 16) >> 3] = w_p0.at[2];
    tile_p0[(th_x * 33 + 24) >> 3] = w_p0.at[3];
  }
  __syncthreads();
  // read elements from the tiles, compute, and store: adjacent lanes access adjacent elements
  {
    union { uint4 word[1]; float at[4]; } w_r0;
    #pragma unroll
    for (unsigned vec = 0; vec < 4; ++vec) {
      float v_x = tile_p0[th_x * 132 + vec * 33 - (th_x >> 3) * 1055];
      float v_n = -v_x;
      w_r0.at[vec] = v_n;
    }
    store_word<aligned>(w_r0.word[0], r0 + ((th_x >> 3) * 2016 + row_tile * 65536 + lane_tile * 32 + th_x * 4));
  }
}
