// tests/goldens/fft_60_c64.hlo: threads 1
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_fft_60_c64(__global const float *restrict p0, __global float *restrict r0)
{
  const uint item = (uint)get_group_id(0);
  float a_re[60], a_im[60], b_re[60], b_im[60];
  {
    const uint unit = item;
    const __global float *const from = p0 + 2 * (unit * 60);
    __global float *const to = r0 + 2 * (unit * 60);
    for (uint j = 0; j < 60; ++j) {
      {
        const uint place = 2 * (j);
        const float re = from[place], im = from[place + 1];
        a_re[j] = re;
        a_im[j] = im;
      }
    }
    for (uint q = 0; q < 3; ++q) {
      const float w1r = sett_fft_60_c64_w[2 * q], w1i = sett_fft_60_c64_w[2 * q + 1];
      for (uint k = 0; k < 10; ++k) {
        const float a0r = a_re[10 * q + k], a0i = a_im[10 * q + k];
        const float a1r = a_re[10 * q + k + 30], a1i = a_im[10 * q + k + 30];
        const float b0r = a0r + a1r, b1r = a0r - a1r;
        const float b0i = a0i + a1i, b1i = a0i - a1i;
        b_re[20 * q + k] = b0r;
        b_im[20 * q + k] = b0i;
        b_re[20 * q + k + 10] = b1r * w1r - b1i * w1i;
        b_im[20 * q + k + 10] = b1r * w1i + b1i * w1r;
      }
    }
    {
      for (uint k = 0; k < 20; ++k) {
        const float a0r = b_re[k], a0i = b_im[k];
        const float a1r = b_re[k + 20], a1i = b_im[k + 20];
        const float a2r = b_re[k + 40], a2i = b_im[k + 40];
        const float t1r = a1r + a2r, d1r = a1r - a2r;
        const float t1i = a1i + a2i, d1i = a1i - a2i;
        const float b0r = a0r + t1r;
        const float b0i = a0i + t1i;
        const float c1r = a0r + -0.5f * t1r, s1r = 0.866025388f * d1r;
        const float c1i = a0i + -0.5f * t1i, s1i = 0.866025388f * d1i;
        const float b1r = c1r + s1i, b1i = c1i - s1r;
        const float b2r = c1r - s1i, b2i = c1i + s1r;
        a_re[k] = b0r;
        a_im[k] = b0i;
        a_re[k + 20] = b1r;
        a_im[k + 20] = b1i;
        a_re[k + 40] = b2r;
        a_im[k + 40] = b2i;
      }
    }
    for (uint j = 0; j < 10; ++j) {
      for (uint k = 0; k < 6; ++k) {
        const float re = a_re[10 * k + j], im = a_im[10 * k + j];
        const float wr = sett_fft_60_c64_turn[2 * (6 * j + k)], wi = sett_fft_60_c64_turn[2 * (6 * j + k) + 1];
        b_re[6 * j + k] = re * wr - im * wi;
        b_im[6 * j + k] = re * wi + im * wr;
      }
    }
    for (uint q = 0; q < 5; ++q) {
      const float w1r = sett_fft_60_c64_w[2 * q + 6], w1i = sett_fft_60_c64_w[2 * q + 7];
      for (uint k = 0; k < 6; ++k) {
        const float a0r = b_re[6 * q + k], a0i = b_im[6 * q + k];
        const float a1r = b_re[6 * q + k + 30], a1i = b_im[6 * q + k + 30];
        const float b0r = a0r + a1r, b1r = a0r - a1r;
        const float b0i = a0i + a1i, b1i = a0i - a1i;
        a_re[12 * q + k] = b0r;
        a_im[12 * q + k] = b0i;
        a_re[12 * q + k + 6] = b1r * w1r - b1i * w1i;
        a_im[12 * q + k + 6] = b1r * w1i + b1i * w1r;
      }
    }
    {
      for (uint k = 0; k < 12; ++k) {
        const float a0r = a_re[k], a0i = a_im[k];
        const float a1r = a_re[k + 12], a1i = a_im[k + 12];
        const float a2r = a_re[k + 24], a2i = a_im[k + 24];
        const float a3r = a_re[k + 36], a3i = a_im[k + 36];
        const float a4r = a_re[k + 48], a4i = a_im[k + 48];
        const float t1r = a1r + a4r, d1r = a1r - a4r;
        const float t1i = a1i + a4i, d1i = a1i - a4i;
        const float t2r = a2r + a3r, d2r = a2r - a3r;
        const float t2i = a2i + a3i, d2i = a2i - a3i;
        const float b0r = a0r + t1r + t2r;
        const float b0i = a0i + t1i + t2i;
        const float c1r = a0r + 0.309017003f * t1r + -0.809017003f * t2r, s1r = 0.95105654f * d1r + 0.587785244f * d2r;
        const float c1i = a0i + 0.309017003f * t1i + -0.809017003f * t2i, s1i = 0.95105654f * d1i + 0.587785244f * d2i;
        const float b1r = c1r + s1i, b1i = c1i - s1r;
        const float b4r = c1r - s1i, b4i = c1i + s1r;
        const float c2r = a0r + -0.809017003f * t1r + 0.309017003f * t2r, s2r = 0.587785244f * d1r + -0.95105654f * d2r;
        const float c2i = a0i + -0.809017003f * t1i + 0.309017003f * t2i, s2i = 0.587785244f * d1i + -0.95105654f * d2i;
        const float b2r = c2r + s2i, b2i = c2i - s2r;
        const float b3r = c2r - s2i, b3i = c2i + s2r;
        b_re[k] = b0r;
        b_im[k] = b0i;
        b_re[k + 12] = b1r;
        b_im[k + 12] = b1i;
        b_re[k + 24] = b2r;
        b_im[k + 24] = b2i;
        b_re[k + 36] = b3r;
        b_im[k + 36] = b3i;
        b_re[k + 48] = b4r;
        b_im[k + 48] = b4i;
      }
    }
    for (uint j = 0; j < 60; ++j) {
      {
        const float re = b_re[j], im = b_im[j];
        const uint place = 2 * (j);
        to[place] = re;
        to[place + 1] = im;
      }
    }
  }
}
