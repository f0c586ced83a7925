// tests/goldens/sort_f32.hlo: tiles of 128, 64 threads
static __device__ inline unsigned sett_sort_f32_key0(float x0)
{
  float v_x = x0;
  const unsigned key = ((unsigned)total_order_f32(v_x) + 2147483648u);
  return key;
}

extern "C" __global__ __launch_bounds__(64) void sett_sort_f32(const float *__restrict__ p0, const int *__restrict__ p1, float *__restrict__ r0, int *__restrict__ r1)
{
  const int bl_x = (int)blockIdx.x;
  const int th_x = (int)threadIdx.x;
  __shared__ unsigned key0[128];
  __shared__ int place[128];
  const int row = bl_x;
  const int at0 = row * 100;
  const int at1 = row * 100;
  const int at2 = row * 100;
  const int at3 = row * 100;
  for (int x = th_x; x < 128; x += 64) {
    const int y = x;
    const int inside = y < 100;
    key0[x] = inside ? sett_sort_f32_key0(p0[at0 + y]) : ~(unsigned)0;
    place[x] = inside ? (int)y : 0x7fffffff;
  }
  for (int span = 2; span <= 128; span *= 2)
    for (int step = span / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int pair = (int)th_x; pair < 64; pair += 64) {
        const int x = 2 * pair - (pair & (step - 1)), y = x + step;
        const int sorted = (key0[x] < key0[y] || (key0[x] == key0[y] && place[x] < place[y]));
        if (sorted != ((x & span) == 0)) {
          const unsigned swap0 = key0[x];
          key0[x] = key0[y];
          key0[y] = swap0;
          const int swap = place[x];
          place[x] = place[y];
          place[y] = swap;
        }
      }
    }
  __syncthreads();
  for (int x = th_x; x < 100; x += 64) {
    if (x < 100) {
      const int y = (int)place[x];
      r0[at2 + x] = p0[at0 + y];
      r1[at3 + x] = p1[at1 + y];
    }
  }
}
