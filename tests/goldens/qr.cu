// tests/goldens/qr_f32.hlo: threads 64, 1 matrices, 1 a work-item, in memory
extern "C" __global__ __launch_bounds__(64) void sett_qr_f32(const float *__restrict__ p0, float *__restrict__ r0, float *__restrict__ r1)
{
  const int th_x = (int)threadIdx.x;
  const int matrix = th_x;
  if (matrix < 1) {
    for (int j = 0; j < 20; ++j)
      for (int i = 0; i < 40; ++i) r0[i + j * 40] = p0[i + j * 40];
    for (int k = 0; k < 20; ++k) {
      const float alpha = r0[k + k * 40];
      float rest = 0, tau = 0;
      for (int i = k + 1; i < 40; ++i) {
        const float size = fabsf(r0[i + k * 40]);
        if (!(size <= rest)) rest = size;
      }
      if (rest != 0) {
        const float most = fabsf(alpha) > rest ? fabsf(alpha) : rest, first = alpha / most;
        float squares = first * first;
        {
          float parts[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
          int block = k + 1;
          for (; block + 8 <= 40; block += 8)
            for (int part = 0; part < 8; ++part) {
              const int i = block + part;
              parts[part] += r0[i + k * 40] / most * (r0[i + k * 40] / most);
            }
          for (int i = block; i < 40; ++i) parts[0] += r0[i + k * 40] / most * (r0[i + k * 40] / most);
          for (int part = 0; part < 8; ++part) squares += parts[part];
        }
        const float norm = most * sqrtf(squares), beta = alpha < 0 ? norm : -norm;
        const float below = alpha - beta;
        tau = (beta - alpha) / beta;
        for (int i = k + 1; i < 40; ++i) r0[i + k * 40] /= below;
        r0[k + k * 40] = beta;
        for (int j = k + 1; j < 20; ++j) {
          float dot = r0[k + j * 40];
          {
            float parts[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
            int block = k + 1;
            for (; block + 8 <= 40; block += 8)
              for (int part = 0; part < 8; ++part) {
                const int i = block + part;
                parts[part] += r0[i + k * 40] * r0[i + j * 40];
              }
            for (int i = block; i < 40; ++i) parts[0] += r0[i + k * 40] * r0[i + j * 40];
            for (int part = 0; part < 8; ++part) dot += parts[part];
          }
          dot *= tau;
          r0[k + j * 40] -= dot;
          for (int i = k + 1; i < 40; ++i) r0[i + j * 40] -= dot * r0[i + k * 40];
        }
      }
      r1[k] = tau;
    }
  }
}
