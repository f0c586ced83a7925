// tests/goldens/product_f32.hlo: threads 64, tiles of 32x32, 4x4 of a thread, 16 steps at once, loads of 4 and 4, 2 parts of the sum
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sett_product_f32(__global const float *restrict p0, __global const float *restrict p1, __global float *restrict q0)
{
  __local __attribute__((aligned(16))) float a_tile[2][16][36];
  __local __attribute__((aligned(16))) float b_tile[2][16][36];
  const uint bl_x = (uint)get_group_id(0);
  const uint th_x = (uint)get_local_id(0);
  const uint part = bl_x >> 1;
  const uint column_block = bl_x & 1;
  const uint thread = th_x;
  union { uint4 all; float at[4]; } a_next[2];
  __global const float *a_at[2]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (uint pass = 0; pass < 2; ++pass) {
    const uint tile_line = (thread >> 1), line = tile_line < 20 ? tile_line : 19;
    a_at[pass] = p0 + line * 300;
  }
  union { uint4 all; float at[4]; } b_next[2];
  __global const float *b_at[2]; /* addresses of the rows or columns that the thread loads */
  #pragma unroll
  for (uint pass = 0; pass < 2; ++pass) {
    const uint tile_line = column_block * 32 + (thread & 7) * 4, line = tile_line < 40 ? tile_line : 36;
    b_at[pass] = p1 + line;
  }
  float total[4][4] = {{0}};
  const uint begin = part * 160, end = begin + 160 < 300 ? begin + 160 : 300;
  uint first = begin;
  #pragma unroll
  for (uint pass = 0; pass < 2; ++pass) {
    const uint step = first + ((thread & 1) * 4 + pass * 8);
    if (step < 300) {
      const uint step_at = step;
      a_next[pass].all = *(const __global uint4 *)(a_at[pass] + step_at);
    } else {
      for (int e = 0; e < 4; ++e) a_next[pass].at[e] = 0;
    }
  }
  #pragma unroll
  for (uint pass = 0; pass < 2; ++pass) {
    const uint line = (thread >> 1), step = ((thread & 1) * 4 + pass * 8);
    #pragma unroll
    for (int e = 0; e < 4; ++e) a_tile[0][step + e][line] = a_next[pass].at[e];
  }
  #pragma unroll
  for (uint pass = 0; pass < 2; ++pass) {
    const uint step = first + (pass * 8 + (thread >> 3));
    if (step < 300) {
      const uint step_at = step * 40;
      b_next[pass].all = *(const __global uint4 *)(b_at[pass] + step_at);
    } else {
      for (int e = 0; e < 4; ++e) b_next[pass].at[e] = 0;
    }
  }
  #pragma unroll
  for (uint pass = 0; pass < 2; ++pass) {
    const uint line = (thread & 7) * 4, step = (pass * 8 + (thread >> 3));
    union { uint4 all; float at[4]; } converted;
    #pragma unroll
    for (int e = 0; e < 4; ++e) converted.at[e] = b_next[pass].at[e];
    *(__local uint4 *)&b_tile[0][step][line] = converted.all;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int stage = 0; first < end; stage ^= 1) {
    first += 16;
    if (first < end) {
      #pragma unroll
      for (uint pass = 0; pass < 2; ++pass) {
        const uint step = first + ((thread & 1) * 4 + pass * 8);
        if (step < 300) {
          const uint step_at = step;
          a_next[pass].all = *(const __global uint4 *)(a_at[pass] + step_at);
        } else {
          for (int e = 0; e < 4; ++e) a_next[pass].at[e] = 0;
        }
      }
      #pragma unroll
      for (uint pass = 0; pass < 2; ++pass) {
        const uint step = first + (pass * 8 + (thread >> 3));
        if (step < 300) {
          const uint step_at = step * 40;
          b_next[pass].all = *(const __global uint4 *)(b_at[pass] + step_at);
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
      for (uint i = 0; i < 4; i += 4) a.all[i / 4] = *(__local const uint4 *)&a_tile[stage][step][((thread >> 3) * 4 + i)];
      #pragma unroll
      for (uint j = 0; j < 1; ++j) b.all[j] = *(__local const uint4 *)&b_tile[stage][step][(thread & 7) * 4];
      #pragma unroll
      for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) total[i][j] = fma(a.at[i], b.at[j], total[i][j]);
    }
    if (first < end) {
      #pragma unroll
      for (uint pass = 0; pass < 2; ++pass) {
        const uint line = (thread >> 1), step = ((thread & 1) * 4 + pass * 8);
        #pragma unroll
        for (int e = 0; e < 4; ++e) a_tile[stage ^ 1][step + e][line] = a_next[pass].at[e];
      }
      #pragma unroll
      for (uint pass = 0; pass < 2; ++pass) {
        const uint line = (thread & 7) * 4, step = (pass * 8 + (thread >> 3));
        union { uint4 all; float at[4]; } converted;
        #pragma unroll
        for (int e = 0; e < 4; ++e) converted.at[e] = b_next[pass].at[e];
        *(__local uint4 *)&b_tile[stage ^ 1][step][line] = converted.all;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  #pragma unroll
  for (uint i = 0; i < 4; ++i) {
    const uint row = ((thread >> 3) * 4 + i);
    if (row < 20) {
      #pragma unroll
      for (uint j = 0; j < 1; ++j) {
        const uint group = column_block * 8 + (thread & 7);
        if (group < 10) {
          #pragma unroll
          for (uint vec = 0; vec < 4; ++vec) {
            const uint position = row * 40 + group * 4 + vec;
            q0[part * 800 + position] = total[i][j * 4 + vec];
          }
        }
      }
    }
  }
}
