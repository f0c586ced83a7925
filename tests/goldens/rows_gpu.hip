// tests/goldens/softmax_f32.hlo: threads 512: 1 rows x 512 to fold, vec 4, 2 steps, 16 registers hold a row
template <bool aligned> static __global__ __launch_bounds__(512, 1) void sett_softmax_f32(const float *__restrict__ p0, float *__restrict__ r0)
{
  __shared__ float shared0[8];
  __shared__ float row_shared0[1];
  __shared__ float shared1[8];
  __shared__ float row_shared1[1];
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  const unsigned g0 = bl_x;
  const unsigned f = th_x;
  float held0[8];
  float kept0[8];
  float of_row0 = 0;
  float of_row1 = 0;
  // stage 0
  float a0[1] = {(-INFINITY)};
  {
    #pragma unroll
    for (unsigned step = 0; step < 2; ++step) {
      union { uint4 word[1]; float at[4]; } w_p0;
      load_word<aligned>(w_p0.word[0], p0 + (g0 * 4096 + f * 4 + step * 2048));
      #pragma unroll
      for (unsigned vec = 0; vec < 4; ++vec) {
        float v_v0 = w_p0.at[vec];
        held0[step * 4 + vec] = v_v0;
        float v_r = maximum_f32(a0[0], v_v0);
        a0[0] = v_r;
      }
    }
  }
  #pragma unroll
  for (unsigned distance = 32; distance >= 1; distance /= 2) {
    const float other0 = __shfl_down(a0[0], distance, 64);
    float v_r = maximum_f32(a0[0], other0);
    a0[0] = v_r;
  }
  if ((th_x & 63) == 0) {
    shared0[th_x >> 6] = a0[0];
  }
  __syncthreads();
  if (f == 0) {
    #pragma unroll
    for (unsigned warp = 1; warp < 8; ++warp) {
      const float other0 = shared0[warp];
      float v_r = maximum_f32(a0[0], other0);
      a0[0] = v_r;
    }
    row_shared0[0] = a0[0];
  }
  __syncthreads();
  const float t0 = row_shared0[0];
  {
    of_row0 = t0;
  }
  // stage 1
  float a1[1] = {0.0f};
  {
    #pragma unroll
    for (unsigned step = 0; step < 2; ++step) {
      #pragma unroll
      for (unsigned vec = 0; vec < 4; ++vec) {
        float v_v4 = held0[step * 4 + vec] - of_row0;
        float v_v5 = expf(v_v4);
        kept0[step * 4 + vec] = v_v5;
        float v_r = a1[0] + v_v5;
        a1[0] = v_r;
      }
    }
  }
  #pragma unroll
  for (unsigned distance = 32; distance >= 1; distance /= 2) {
    const float other1 = __shfl_down(a1[0], distance, 64);
    float v_r = a1[0] + other1;
    a1[0] = v_r;
  }
  if ((th_x & 63) == 0) {
    shared1[th_x >> 6] = a1[0];
  }
  __syncthreads();
  if (f == 0) {
    #pragma unroll
    for (unsigned warp = 1; warp < 8; ++warp) {
      const float other1 = shared1[warp];
      float v_r = a1[0] + other1;
      a1[0] = v_r;
    }
    row_shared1[0] = a1[0];
  }
  __syncthreads();
  const float t1 = row_shared1[0];
  {
    of_row1 = t1;
  }
  // stage 2
  {
    #pragma unroll
    for (unsigned step = 0; step < 2; ++step) {
      union { uint4 word[1]; float at[4]; } w_r0;
      #pragma unroll
      for (unsigned vec = 0; vec < 4; ++vec) {
        float v_v9 = kept0[step * 4 + vec] / of_row1;
        w_r0.at[vec] = v_v9;
      }
      store_word<aligned>(w_r0.word[0], r0 + (g0 * 4096 + f * 4 + step * 2048));
    }
  }
}
