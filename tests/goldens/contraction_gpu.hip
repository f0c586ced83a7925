// tests/goldens/product_of_bf16.hlo: threads 64, tiles of 32x32, 4x4 of a thread, 16 steps at once, loads of 4 and 4
template <bool aligned> static __global__ __launch_bounds__(64) void sett_product_of_bf16(const unsigned short *__restrict__ p0, const unsigned short *__restrict__ p1, const unsigned short *__restrict__ p2, unsigned short *__restrict__ r0)
{
  __shared__ __align__(16) float a_tile[2][16][36];
  __shared__ __align__(16) float b_tile[2][16][36];
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  const unsigned row_block = bl_x / 3;
  const unsigned column_block = bl_x % 3;
  const unsigned thread = th_x;
  union { uint2 all; unsigned short at[4]; } a_next[2];
  const unsigned short *a_at[2]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned line = row_block * 32 + (thread >> 1);
    a_at[pass] = p0 + line * 64;
  }
  union { uint2 all; unsigned short at[4]; } b_next[2];
  const unsigned short *b_at[2]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned tile_line = column_block * 32 + (thread & 7) * 4, line = tile_line < 80 ? tile_line : 76;
    b_at[pass] = p1 + line;
  }
  float total[4][4] = {{0}};
  const unsigned begin = 0, end = 64;
  unsigned first = begin;
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned step = first + ((thread & 1) * 4 + pass * 8);
    const unsigned step_at = step;
    load_word<aligned>(a_next[pass].all, a_at[pass] + step_at);
  }
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned line = (thread >> 1), step = ((thread & 1) * 4 + pass * 8);
    #pragma unroll
    for (int e = 0; e < 4; ++e) a_tile[0][step + e][line] = value_bf16(a_next[pass].at[e]);
  }
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned step = first + (pass * 8 + (thread >> 3));
    const unsigned step_at = step * 80;
    load_word<aligned>(b_next[pass].all, b_at[pass] + step_at);
  }
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned line = (thread & 7) * 4, step = (pass * 8 + (thread >> 3));
    union { uint4 all; float at[4]; } converted;
    #pragma unroll
    for (int e = 0; e < 4; ++e) converted.at[e] = value_bf16(b_next[pass].at[e]);
    *(uint4 *)&b_tile[0][step][line] = converted.all;
  }
  __syncthreads();
  for (int stage = 0; first < end; stage ^= 1) {
    first += 16;
    if (first < end) {
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned step = first + ((thread & 1) * 4 + pass * 8);
        const unsigned step_at = step;
        load_word<aligned>(a_next[pass].all, a_at[pass] + step_at);
      }
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned step = first + (pass * 8 + (thread >> 3));
        const unsigned step_at = step * 80;
        load_word<aligned>(b_next[pass].all, b_at[pass] + step_at);
      }
    }
    #pragma unroll
    for (int step = 0; step < 16; ++step) {
      union { uint4 all[1]; float at[4]; } a;
      union { uint4 all[1]; float at[4]; } b;
      #pragma unroll
      for (unsigned i = 0; i < 4; i += 4) a.all[i / 4] = *(const uint4 *)&a_tile[stage][step][((thread >> 3) * 4 + i)];
      #pragma unroll
      for (unsigned j = 0; j < 1; ++j) b.all[j] = *(const uint4 *)&b_tile[stage][step][(thread & 7) * 4];
      #pragma unroll
      for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) total[i][j] = fmaf(a.at[i], b.at[j], total[i][j]);
    }
    if (first < end) {
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned line = (thread >> 1), step = ((thread & 1) * 4 + pass * 8);
        #pragma unroll
        for (int e = 0; e < 4; ++e) a_tile[stage ^ 1][step + e][line] = value_bf16(a_next[pass].at[e]);
      }
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned line = (thread & 7) * 4, step = (pass * 8 + (thread >> 3));
        union { uint4 all; float at[4]; } converted;
        #pragma unroll
        for (int e = 0; e < 4; ++e) converted.at[e] = value_bf16(b_next[pass].at[e]);
        *(uint4 *)&b_tile[stage ^ 1][step][line] = converted.all;
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = row_block * 32 + ((thread >> 3) * 4 + i);
    {
      #pragma unroll
      for (unsigned j = 0; j < 1; ++j) {
        const unsigned group = column_block * 8 + (thread & 7);
        if (group < 20) {
          typedef unsigned short w_p2_word __attribute__((vector_size(8)));
          union { w_p2_word word[1]; unsigned short at[4]; } w_p2;
          load_word<aligned>(w_p2.word[0], p2 + (group * 4));
          typedef unsigned short w_r0_word __attribute__((vector_size(8)));
          union { w_r0_word word[1]; unsigned short at[4]; } w_r0;
          #pragma unroll
          for (unsigned vec = 0; vec < 4; ++vec) {
            float v_product = total[i][j * 4 + vec];
            float v_product_of2 = round_bf16(v_product);
            float v_bias = value_bf16(w_p2.at[vec]);
            float v_y = round_bf16(v_product_of2 + v_bias);
            w_r0.at[vec] = bits_bf16(v_y);
          }
          store_word<aligned>(w_r0.word[0], r0 + (row * 80 + group * 4));
        }
      }
    }
  }
}
