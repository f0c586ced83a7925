// bench/concatenate_f32.hlo: 2 parts: (threads 128, chunks 1, vec 4), (threads 128, chunks 1, vec 4)
template <bool aligned> static __global__ __launch_bounds__(128) void sett_concatenate_f32(const float *__restrict__ p0, const float *__restrict__ p1, float *__restrict__ r0)
{
  if (blockIdx.x < 8192) { // part 0
    const unsigned bl_x = (unsigned)blockIdx.x;
    const unsigned th_x = (unsigned)threadIdx.x;
    union { uint4 word[1]; float at[4]; } w_p0;
    load_word<aligned>(w_p0.word[0], p0 + (th_x * 4 + bl_x * 512));
    union { uint4 word[1]; float at[4]; } w_r0;
    #pragma unroll
    for (unsigned vec = 0; vec < 4; ++vec) {
      float v_a = w_p0.at[vec];
      w_r0.at[vec] = v_a;
    }
    store_word<aligned>(w_r0.word[0], r0 + ((bl_x >> 1) * 3072 + th_x * 4 + bl_x * 512));
  }
  else { // part 1
    const unsigned bl_x = (unsigned)blockIdx.x - 8192;
    const unsigned th_x = (unsigned)threadIdx.x;
    union { uint4 word[1]; float at[4]; } w_p1;
    load_word<aligned>(w_p1.word[0], p1 + (th_x * 4 + bl_x * 512));
    union { uint4 word[1]; float at[4]; } w_r0;
    #pragma unroll
    for (unsigned vec = 0; vec < 4; ++vec) {
      float v_b = w_p1.at[vec];
      w_r0.at[vec] = v_b;
    }
    store_word<aligned>(w_r0.word[0], r0 + ((bl_x / 6) * 1024 + th_x * 4 + bl_x * 512 + 1024));
  }
}
