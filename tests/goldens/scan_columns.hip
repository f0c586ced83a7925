// tests/goldens/column_cummax_f32.hlo: scan of columns, threads 64, 1 rows a work-item, 1 registers of 1 columns
extern "C" __global__ __launch_bounds__(64, 1) void sett_column_cummax_f32(const float *__restrict__ p0, float *__restrict__ r0)
{
  const unsigned th_x = (unsigned)threadIdx.x;
  if (!(th_x <= 49)) return;
  const unsigned block = th_x;
  for (unsigned row = 0; row < 1; ++row) {
    float a0[1];
    for (unsigned vec = 0; vec < 1; ++vec)
      a0[vec] = (-INFINITY);
    for (unsigned place = 40; place-- > 0;)
    {
      for (unsigned vec = 0; vec < 1; ++vec) {
        float v_x = p0[place * 50 + block];
        float v_max = maximum_f32(v_x, a0[vec]);
        a0[vec] = v_max;
        r0[place * 50 + block] = v_max;
      }
    }
  }
}
