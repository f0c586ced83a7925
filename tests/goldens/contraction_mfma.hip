// tests/goldens/product_f32.hlo: threads 256, tiles of 32x32, 4x1 of a thread, 16 steps at once, loads of 4 and 4, 2 parts of the sum, MFMA
template <bool aligned> static __global__ __launch_bounds__(256) void sett_product_f32(const float *__restrict__ p0, const float *__restrict__ p1, float *__restrict__ q0)
{
  __shared__ __align__(16) float a_tile[2][512];
  __shared__ __align__(16) float b_tile[2][512];
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  const unsigned part = bl_x >> 1;
  const unsigned column_block = bl_x & 1;
  const unsigned wave_row = th_x >> 7;
  const unsigned wave_column = (th_x >> 6) & 1;
  const unsigned lane = th_x & 63;
  union { uint4 all; float at[4]; } a_next[1];
  const float *a_at[1]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (unsigned pass = 0; pass < 1; ++pass) if (th_x <= 127) {
    const unsigned tile_line = (th_x >> 2), line = tile_line < 20 ? tile_line : 19;
    a_at[pass] = p0 + line * 300;
  }
  union { uint4 all; float at[4]; } b_next[1];
  const float *b_at[1]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (unsigned pass = 0; pass < 1; ++pass) if (th_x <= 127) {
    const unsigned tile_line = column_block * 32 + (th_x & 7) * 4, line = tile_line < 40 ? tile_line : 36;
    b_at[pass] = p1 + line;
  }
  float total[1][1][4] = {{{0}}};
  const unsigned begin = part * 160, end = begin + 160 < 300 ? begin + 160 : 300;
  unsigned first = begin;
  #pragma unroll
  for (unsigned pass = 0; pass < 1; ++pass) if (th_x <= 127) {
    const unsigned step = first + (th_x & 3) * 4;
    if (step < 300) {
      const unsigned step_at = step;
      load_word<aligned>(a_next[pass].all, a_at[pass] + step_at);
    } else {
      for (int e = 0; e < 4; ++e) a_next[pass].at[e] = 0;
    }
  }
  #pragma unroll
  for (unsigned pass = 0; pass < 1; ++pass) if (th_x <= 127) {
    const unsigned line = (th_x >> 2), of_tile = (th_x & 3) * 4;
    *(uint4 *)&a_tile[0][(line * 16 + (((line >> 1) * 4 + of_tile) & 15))] = a_next[pass].all;
  }
  #pragma unroll
  for (unsigned pass = 0; pass < 1; ++pass) if (th_x <= 127) {
    const unsigned step = first + (th_x >> 3);
    if (step < 300) {
      const unsigned step_at = step * 40;
      load_word<aligned>(b_next[pass].all, b_at[pass] + step_at);
    } else {
      for (int e = 0; e < 4; ++e) b_next[pass].at[e] = 0;
    }
  }
  #pragma unroll
  for (unsigned pass = 0; pass < 1; ++pass) if (th_x <= 127) {
    const unsigned line = (th_x & 7) * 4, of_tile = (th_x >> 3);
    *(uint4 *)&b_tile[0][(of_tile * 32 + (((of_tile >> 2) * 16 + line) & 31))] = b_next[pass].all;
  }
  __syncthreads();
  for (int stage = 0; first < end; stage ^= 1) {
    first += 16;
    if (first < end) {
      #pragma unroll
      for (unsigned pass = 0; pass < 1; ++pass) if (th_x <= 127) {
        const unsigned step = first + (th_x & 3) * 4;
        if (step < 300) {
          const unsigned step_at = step;
          load_word<aligned>(a_next[pass].all, a_at[pass] + step_at);
        } else {
          for (int e = 0; e < 4; ++e) a_next[pass].at[e] = 0;
        }
      }
      #pragma unroll
      for (unsigned pass = 0; pass < 1; ++pass) if (th_x <= 127) {
        const unsigned step = first + (th_x >> 3);
        if (step < 300) {
          const unsigned step_at = step * 40;
          load_word<aligned>(b_next[pass].all, b_at[pass] + step_at);
        } else {
          for (int e = 0; e < 4; ++e) b_next[pass].at[e] = 0;
        }
      }
    }
    #pragma unroll
    for (unsigned word = 0; word < 1; ++word) {
      union { uint4 all; float at[4]; } a[1];
      #pragma unroll
      for (unsigned n = 0; n < 1; ++n) {
        const unsigned line = (wave_row * 16 + (lane & 15));
        const unsigned of_tile = (lane >> 4) * 4;
        a[n].all = *(const uint4 *)&a_tile[stage][(line * 16 + (((line >> 1) * 4 + of_tile) & 15))];
      }
      union { uint4 all; float at[4]; } b[1];
      #pragma unroll
      for (unsigned n = 0; n < 1; ++n) {
        const unsigned line = (wave_column * 16 + (lane & 15));
        #pragma unroll
        for (unsigned e = 0; e < 4; ++e) {
          const unsigned of_tile = (lane >> 4) * 4 + e;
          b[n].at[e] = b_tile[stage][(of_tile * 32 + (((of_tile >> 2) * 16 + line) & 31))];
        }
      }
      #pragma unroll
      for (int i = 0; i < 1; ++i)
        #pragma unroll
        for (int j = 0; j < 1; ++j) mfma_f32_f32(total[i][j], a[i].at, b[j].at);
    }
    if (first < end) {
      #pragma unroll
      for (unsigned pass = 0; pass < 1; ++pass) if (th_x <= 127) {
        const unsigned line = (th_x >> 2), of_tile = (th_x & 3) * 4;
        *(uint4 *)&a_tile[stage ^ 1][(line * 16 + (((line >> 1) * 4 + of_tile) & 15))] = a_next[pass].all;
      }
      #pragma unroll
      for (unsigned pass = 0; pass < 1; ++pass) if (th_x <= 127) {
        const unsigned line = (th_x & 7) * 4, of_tile = (th_x >> 3);
        *(uint4 *)&b_tile[stage ^ 1][(of_tile * 32 + (((of_tile >> 2) * 16 + line) & 31))] = b_next[pass].all;
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = ((lane >> 4) * 4 + wave_row * 16 + i);
    if (row < 20) {
      #pragma unroll
      for (unsigned j = 0; j < 1; ++j) {
        const unsigned group = column_block * 32 + (wave_column * 16 + (lane & 15));
        if (group < 40) {
          const unsigned position = row * 40 + group;
          q0[part * 800 + position] = total[i / 4][j][i % 4];
        }
      }
    }
  }
}
