// tests/goldens/product_of_bf16.hlo: threads 128, tiles of 64x64, 2x16 of a thread, 64 steps at once, loads of 8 and 8, wgmma, 4 stages
template <bool aligned> static __global__ __launch_bounds__(128) void sett_product_of_bf16(const unsigned short *__restrict__ p0, const unsigned short *__restrict__ p1, const unsigned short *__restrict__ p2, unsigned short *__restrict__ r0)
{
  unsigned short (*const a_tile)[4096] = (unsigned short (*)[4096])(dynamic_shared() + 0);
  unsigned short (*const b_tile)[4096] = (unsigned short (*)[4096])(dynamic_shared() + 32768);
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  const unsigned row_block = bl_x >> 1;
  const unsigned column_block = bl_x & 1;
  const unsigned warp = th_x >> 5;
  const unsigned lane = th_x & 31;
  const unsigned short *a_at[4]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (unsigned pass = 0; pass < 4; ++pass) {
    const unsigned tile_line = row_block * 64 + (pass * 16 + (th_x >> 3)), line = tile_line < 96 ? tile_line : 95;
    a_at[pass] = p0 + line * 64;
  }
  const unsigned short *b_at[4]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (unsigned pass = 0; pass < 4; ++pass) {
    const unsigned tile_line = column_block * 64 + (th_x & 7) * 8, line = tile_line < 80 ? tile_line : 72;
    b_at[pass] = p1 + line;
  }
  float total[32] = {0};
  const unsigned begin = 0, end = 64;
  for (int to = 0; to < 2; ++to) {
    const unsigned first = begin + (unsigned)to * 64;
    if (first < end) {
      #pragma unroll
      for (unsigned pass = 0; pass < 4; ++pass) {
        const unsigned line = (pass * 16 + (th_x >> 3)), of_tile = (th_x & 7) * 8, step = first + of_tile;
        copy_to_shared<aligned, 16>(&a_tile[to][(line * 64 + (of_tile ^ ((line & 7) * 8)))], a_at[pass] + step, true);
      }
      #pragma unroll
      for (unsigned pass = 0; pass < 4; ++pass) {
        const unsigned line = (th_x & 7) * 8, of_tile = (pass * 16 + (th_x >> 3)), step = first + of_tile;
        copy_to_shared<aligned, 16>(&b_tile[to][(of_tile * 64 + (line ^ ((of_tile & 7) * 8)))], b_at[pass] + step * 80, true);
      }
    }
    copies_issued();
  }
  int stage = 0, to = 2;
  for (unsigned first = begin; first < end; first += 64) {
    wait_for_copies<1>();
    show_to_wgmma();
    __syncthreads();
    if (first + 128 < end) {
      #pragma unroll
      for (unsigned pass = 0; pass < 4; ++pass) {
        const unsigned line = (pass * 16 + (th_x >> 3)), of_tile = (th_x & 7) * 8, step = first + 128 + of_tile;
        copy_to_shared<aligned, 16>(&a_tile[to][(line * 64 + (of_tile ^ ((line & 7) * 8)))], a_at[pass] + step, true);
      }
      #pragma unroll
      for (unsigned pass = 0; pass < 4; ++pass) {
        const unsigned line = (th_x & 7) * 8, of_tile = (pass * 16 + (th_x >> 3)), step = first + 128 + of_tile;
        copy_to_shared<aligned, 16>(&b_tile[to][(of_tile * 64 + (line ^ ((of_tile & 7) * 8)))], b_at[pass] + step * 80, true);
      }
    }
    copies_issued();
    wgmma_fence();
    #pragma unroll
    for (unsigned part = 0; part < 4; ++part)
      wgmma_m64n64k16_f32_bf16<0, 1>(total, matrix_descriptor(&a_tile[stage][part * 16], 16, 1024), matrix_descriptor(&b_tile[stage][part * 1024], 16, 1024));
    wgmma_issued();
    wait_for_wgmma<1>();
    stage = stage + 1 < 4 ? stage + 1 : 0;
    to = to + 1 < 4 ? to + 1 : 0;
  }
  wait_for_wgmma<0>();
  sums_are_done(total);
  #pragma unroll
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned row = row_block * 64 + (warp * 16 + i * 8 + (lane >> 2));
    if (row < 96) {
      #pragma unroll
      for (unsigned j = 0; j < 8; ++j) {
        const unsigned group = column_block * 32 + (j * 4 + (lane & 3));
        if (group < 40) {
          union { unsigned word[1]; unsigned short at[2]; } w_p2;
          load_word<aligned>(w_p2.word[0], p2 + (group * 2));
          union { unsigned word[1]; unsigned short at[2]; } w_r0;
          #pragma unroll
          for (unsigned vec = 0; vec < 2; ++vec) {
            float v_product = total[(j * 2 + vec) / 2 * 4 + i * 2 + (j * 2 + vec) % 2];
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
