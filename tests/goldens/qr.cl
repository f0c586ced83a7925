// tests/goldens/qr_f32.hlo: threads 1, 1 matrices, 1 a work-item, in memory
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_qr_f32(__global const float *restrict p0, __global float *restrict r0, __global float *restrict r1)
{
  for (int j = 0; j < 20; ++j)
    for (int i = 0; i < 40; ++i) r0[i + j * 40] = p0[i + j * 40];
  for (int k = 0; k < 20; ++k) {
    const float alpha = r0[k + k * 40];
    float rest = 0, tau = 0;
    for (int i = k + 1; i < 40; ++i) {
      const float size = fabs(r0[i + k * 40]);
      if (!(size <= rest)) rest = size;
    }
    if (rest != 0) {
      const float most = fabs(alpha) > rest ? fabs(alpha) : rest, first = alpha / most;
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
      const float norm = most * sqrt(squares), beta = alpha < 0 ? norm : -norm;
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
