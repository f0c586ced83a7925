// tests/goldens/product_f32.hlo: threads 64, tiles of 32x32, 4x4 of a thread, 16 steps at once, loads of 4 and 4, 2 parts of the sum
template <bool aligned> static __global__ __launch_bounds__(64) void sett_product_f32(const float *__restrict__ p0, const float *__restrict__ p1, float *__restrict__ q0)
{
  __shared__ __align__(16) float a_tile[2][16][36];
  __shared__ __align__(16) float b_tile[2][16][36];
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  const unsigned part = bl_x >> 1;
  const unsigned column_block = bl_x & 1;
  const unsigned thread = th_x;
  union { uint4 all; float at[4]; } a_next[2];
  const float *a_at[2]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned tile_line = (thread >> 1), line = tile_line < 20 ? tile_line : 19;
    a_at[pass] = p0 + line * 300;
  }
  union { uint4 all; float at[4]; } b_next[2];
  const float *b_at[2]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned tile_line = column_block * 32 + (thread & 7) * 4, line = tile_line < 40 ? tile_line : 36;
    b_at[pass] = p1 + line;
  }
  float total[4][4] = {{0}};
  const unsigned begin = part * 160, end = begin + 160 < 300 ? begin + 160 : 300;
  unsigned first = begin;
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned step = first + ((thread & 1) * 4 + pass * 8);
    if (step < 300) {
      const unsigned step_at = step;
      load_word<aligned>(a_next[pass].all, a_at[pass] + step_at);
    } else {
      for (int e = 0; e < 4; ++e) a_next[pass].at[e] = 0;
    }
  }
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned line = (thread >> 1), step = ((thread & 1) * 4 + pass * 8);
    #pragma unroll
    for (int e = 0; e < 4; ++e) a_tile[0][step + e][line] = a_next[pass].at[e];
  }
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned step = first + (pass * 8 + (thread >> 3));
    if (step < 300) {
      const unsigned step_at = step * 40;
      load_word<aligned>(b_next[pass].all, b_at[pass] + step_at);
    } else {
      for (int e = 0; e < 4; ++e) b_next[pass].at[e] = 0;
    }
  }
  #pragma unroll
  for (unsigned pass = 0; pass < 2; ++pass) {
    const unsigned line = (thread & 7) * 4, step = (pass * 8 + (thread >> 3));
    union { uint4 all; float at[4]; } converted;
    #pragma unroll
    for (int e = 0; e < 4; ++e) converted.at[e] = b_next[pass].at[e];
    *(uint4 *)&b_tile[0][step][line] = converted.all;
  }
  __syncthreads();
  for (int stage = 0; first < end; stage ^= 1) {
    first += 16;
    if (first < end) {
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned step = first + ((thread & 1) * 4 + pass * 8);
        if (step < 300) {
          const unsigned step_at = step;
          load_word<aligned>(a_next[pass].all, a_at[pass] + step_at);
        } else {
          for (int e = 0; e < 4; ++e) a_next[pass].at[e] = 0;
        }
      }
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned step = first + (pass * 8 + (thread >> 3));
        if (step < 300) {
          const unsigned step_at = step * 40;
          load_word<aligned>(b_next[pass].all, b_at[pass] + step_at);
        } else {
          for (int e = 0; e < 4; ++e) b_next[pass].at[e] = 0;
        }
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
        for (int e = 0; e < 4; ++e) a_tile[stage ^ 1][step + e][line] = a_next[pass].at[e];
      }
      #pragma unroll
      for (unsigned pass = 0; pass < 2; ++pass) {
        const unsigned line = (thread & 7) * 4, step = (pass * 8 + (thread >> 3));
        union { uint4 all; float at[4]; } converted;
        #pragma unroll
        for (int e = 0; e < 4; ++e) converted.at[e] = b_next[pass].at[e];
        *(uint4 *)&b_tile[stage ^ 1][step][line] = converted.all;
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = ((thread >> 3) * 4 + i);
    if (row < 20) {
      #pragma unroll
      for (unsigned j = 0; j < 1; ++j) {
        const unsigned group = column_block * 8 + (thread & 7);
        if (group < 10) {
          #pragma unroll
          for (unsigned vec = 0; vec < 4; ++vec) {
            const unsigned position = row * 40 + group * 4 + vec;
            q0[part * 800 + position] = total[i][j * 4 + vec];
          }
        }
      }
    }
  }
}
