// tests/goldens/qr_f32.hlo: threads 1, 1 matrices, 1 a work-item, in memory
static void sett_qr_f32(const float *restrict p0, float *restrict r0, float *restrict r1, size_t number)
{
  (void)number;
  for (int32_t j = 0; j < 20; ++j)
    for (int32_t i = 0; i < 40; ++i) r0[i + j * 40] = p0[i + j * 40];
  for (int32_t k = 0; k < 20; ++k) {
    const float alpha = r0[k + k * 40];
    float rest = 0, tau = 0;
    for (int32_t i = k + 1; i < 40; ++i) {
      const float size = fabsf(r0[i + k * 40]);
      if (!(size <= rest)) rest = size;
    }
    if (rest != 0) {
      const float most = fabsf(alpha) > rest ? fabsf(alpha) : rest, first = alpha / most;
      float squares = first * first;
      {
        float parts[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
        int32_t block = k + 1;
        for (; block + 8 <= 40; block += 8)
          for (int32_t part = 0; part < 8; ++part) {
            const int32_t i = block + part;
            parts[part] += r0[i + k * 40] / most * (r0[i + k * 40] / most);
          }
        for (int32_t i = block; i < 40; ++i) parts[0] += r0[i + k * 40] / most * (r0[i + k * 40] / most);
        for (int32_t part = 0; part < 8; ++part) squares += parts[part];
      }
      const float norm = most * sqrtf(squares), beta = alpha < 0 ? norm : -norm;
      const float below = alpha - beta;
      tau = (beta - alpha) / beta;
      for (int32_t i = k + 1; i < 40; ++i) r0[i + k * 40] /= below;
      r0[k + k * 40] = beta;
      for (int32_t j = k + 1; j < 20; ++j) {
        float dot = r0[k + j * 40];
        {
          float parts[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
          int32_t block = k + 1;
          for (; block + 8 <= 40; block += 8)
            for (int32_t part = 0; part < 8; ++part) {
              const int32_t i = block + part;
              parts[part] += r0[i + k * 40] * r0[i + j * 40];
            }
          for (int32_t i = block; i < 40; ++i) parts[0] += r0[i + k * 40] * r0[i + j * 40];
          for (int32_t part = 0; part < 8; ++part) dot += parts[part];
        }
        dot *= tau;
        r0[k + j * 40] -= dot;
        for (int32_t i = k + 1; i < 40; ++i) r0[i + j * 40] -= dot * r0[i + k * 40];
      }
    }
    r1[k] = tau;
  }
}
