// tests/goldens/product_of_bf16.hlo: threads 128, tiles of 64x64, 4x8 of a thread, 32 steps at once, loads of 8 and 8, matrix instructions, 4 stages
template <bool aligned> static __global__ __launch_bounds__(128) void sett_product_of_bf16(const unsigned short *__restrict__ p0, const unsigned short *__restrict__ p1, const unsigned short *__restrict__ p2, unsigned short *__restrict__ r0)
{
  __shared__ __align__(16) unsigned short a_tile[4][2048];
  __shared__ __align__(16) unsigned short b_tile[4][2048];
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  const unsigned row_block = bl_x >> 1;
  const unsigned column_block = bl_x & 1;
  const unsigned warp_row = th_x >> 6;
  const unsigned warp_column = (th_x >> 5) & 1;
  const unsigned lane = th_x & 31;
  const unsigned short *a_at[2]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned tile_line = row_block * 64 + (pass * 32 + (th_x >> 2)), line = tile_line < 96 ? tile_line : 95;
    a_at[pass] = p0 + line * 64;
  }
  const unsigned short *b_at[2]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned tile_line = column_block * 64 + (th_x & 7) * 8, line = tile_line < 80 ? tile_line : 72;
    b_at[pass] = p1 + line;
  }
  float total[2][4][4] = {{{0}}};
  const unsigned begin = 0, end = 64;
  for (int to = 0; to < 3; ++to) {
    const unsigned first = begin + (unsigned)to * 32;
    if (first < end) {
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned line = (pass * 32 + (th_x >> 2)), of_tile = (th_x & 3) * 8, step = first + of_tile;
        copy_to_shared<aligned, 16>(&a_tile[to][(line * 32 + (((line >> 1) * 8 + of_tile) & 31))], a_at[pass] + step, true);
      }
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned line = (th_x & 7) * 8, of_tile = (pass * 16 + (th_x >> 3)), step = first + of_tile;
        copy_to_shared<aligned, 16>(&b_tile[to][(of_tile * 64 + ((of_tile * 8 + line) & 63))], b_at[pass] + step * 80, true);
      }
    }
    copies_issued();
  }
  int stage = 0, to = 3;
  for (unsigned first = begin; first < end; first += 32) {
    wait_for_copies<2>();
    __syncthreads();
    if (first + 96 < end) {
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned line = (pass * 32 + (th_x >> 2)), of_tile = (th_x & 3) * 8, step = first + 96 + of_tile;
        copy_to_shared<aligned, 16>(&a_tile[to][(line * 32 + (((line >> 1) * 8 + of_tile) & 31))], a_at[pass] + step, true);
      }
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned line = (th_x & 7) * 8, of_tile = (pass * 16 + (th_x >> 3)), step = first + 96 + of_tile;
        copy_to_shared<aligned, 16>(&b_tile[to][(of_tile * 64 + ((of_tile * 8 + line) & 63))], b_at[pass] + step * 80, true);
      }
    }
    copies_issued();
    #pragma unroll
    for (unsigned part = 0; part < 2; ++part) {
      unsigned a[2][4], b[2][4];
      #pragma unroll
      for (unsigned n = 0; n < 2; ++n) {
        const unsigned line = (warp_row * 32 + n * 16 + (lane & 15)), of_tile = ((lane >> 4) * 8 + part * 16);
        load_matrices<false>(a[n], &a_tile[stage][(line * 32 + (((line >> 1) * 8 + of_tile) & 31))]);
      }
      #pragma unroll
      for (unsigned n = 0; n < 2; ++n) {
        const unsigned line = ((lane >> 4) * 8 + warp_column * 32 + n * 16), of_tile = (part * 16 + (lane & 15));
        load_matrices<true>(b[n], &b_tile[stage][(of_tile * 64 + ((of_tile * 8 + line) & 63))]);
      }
      #pragma unroll
      for (int i = 0; i < 2; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) mma_m16n8k16_f32_bf16(total[i][j], a[i], b[j / 2] + j % 2 * 2);
    }
    stage = stage + 1 < 4 ? stage + 1 : 0;
    to = to + 1 < 4 ? to + 1 : 0;
  }
  #pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = row_block * 64 + (warp_row * 32 + i * 8 + (lane >> 2));
    if (row < 96) {
      #pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        const unsigned group = column_block * 32 + (warp_column * 16 + j * 4 + (lane & 3));
        if (group < 40) {
          union { unsigned word[1]; unsigned short at[2]; } w_p2;
          load_word<aligned>(w_p2.word[0], p2 + (group * 2));
          union { unsigned word[1]; unsigned short at[2]; } w_r0;
          #pragma unroll
          for (unsigned vec = 0; vec < 2; ++vec) {
            float v_product = total[i / 2][(j * 2 + vec) / 2][i % 2 * 2 + (j * 2 + vec) % 2];
            float v_product_of2 = round_bf16(v_product);
            float v_bias = value_bf16(w_p2.at[vec]);
            float v_y = round_bf16(v_product_of2 + v_bias);
            w_r0.at[vec] = bits_bf16(v_y);
          }
          store_word<aligned>(w_r0.word[0], r0 + (row * 80 + group * 2));
        }
      }
    }
  }
}
