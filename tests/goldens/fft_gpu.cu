// tests/goldens/fft_60_c64.hlo: threads 32, 1 rows of 60 a block
extern "C" __global__ __launch_bounds__(32) void sett_fft_60_c64(const float *__restrict__ p0, float *__restrict__ r0)
{
  __shared__ float shared_re[61], shared_im[61];
  const unsigned bl_x = (unsigned)blockIdx.x;
  const unsigned th_x = (unsigned)threadIdx.x;
  const unsigned first = bl_x;
  {
    float kept_re[4], kept_im[4];
    {
      const unsigned work = th_x;
      if (work < 15) {
        const unsigned butterfly = work;
        const unsigned unit = first;
        const unsigned from_at = unit * 60;
        float a0r = 0, a0i = 0;
        {
          const unsigned place = 2 * (from_at + butterfly);
          const float re = p0[place], im = p0[place + 1];
          a0r = re;
          a0i = im;
        }
        float a1r = 0, a1i = 0;
        {
          const unsigned place = 2 * (from_at + (butterfly + 15));
          const float re = p0[place], im = p0[place + 1];
          a1r = re;
          a1i = im;
        }
        float a2r = 0, a2i = 0;
        {
          const unsigned place = 2 * (from_at + (butterfly + 30));
          const float re = p0[place], im = p0[place + 1];
          a2r = re;
          a2i = im;
        }
        float a3r = 0, a3i = 0;
        {
          const unsigned place = 2 * (from_at + (butterfly + 45));
          const float re = p0[place], im = p0[place + 1];
          a3r = re;
          a3i = im;
        }
        const float s0r = a0r + a2r, s1r = a0r - a2r, s2r = a1r + a3r, s3r = a1r - a3r;
        const float s0i = a0i + a2i, s1i = a0i - a2i, s2i = a1i + a3i, s3i = a1i - a3i;
        const float b0r = s0r + s2r, b2r = s0r - s2r;
        const float b0i = s0i + s2i, b2i = s0i - s2i;
        const float b1r = s1r + s3i, b1i = s1i - s3r;
        const float b3r = s1r - s3i, b3i = s1i + s3r;
        kept_re[0] = b0r;
        kept_im[0] = b0i;
        const unsigned root1 = butterfly * 2;
        const float w1r = sett_fft_60_c64_w[root1], w1i = sett_fft_60_c64_w[root1 + 1];
        kept_re[1] = b1r * w1r - b1i * w1i;
        kept_im[1] = b1r * w1i + b1i * w1r;
        const unsigned root2 = butterfly * 2 + 30;
        const float w2r = sett_fft_60_c64_w[root2], w2i = sett_fft_60_c64_w[root2 + 1];
        kept_re[2] = b2r * w2r - b2i * w2i;
        kept_im[2] = b2r * w2i + b2i * w2r;
        const unsigned root3 = butterfly * 2 + 60;
        const float w3r = sett_fft_60_c64_w[root3], w3i = sett_fft_60_c64_w[root3 + 1];
        kept_re[3] = b3r * w3r - b3i * w3i;
        kept_im[3] = b3r * w3i + b3i * w3r;
      }
    }
    {
      const unsigned work = th_x;
      if (work < 15) {
        const unsigned butterfly = work;
        shared_re[(butterfly * 33) >> 3] = kept_re[0];
        shared_im[(butterfly * 33) >> 3] = kept_im[0];
        shared_re[(butterfly * 33 + 8) >> 3] = kept_re[1];
        shared_im[(butterfly * 33 + 8) >> 3] = kept_im[1];
        shared_re[(butterfly * 33 + 16) >> 3] = kept_re[2];
        shared_im[(butterfly * 33 + 16) >> 3] = kept_im[2];
        shared_re[(butterfly * 33 + 24) >> 3] = kept_re[3];
        shared_im[(butterfly * 33 + 24) >> 3] = kept_im[3];
      }
    }
    __syncthreads();
  }
  {
    float kept_re[3], kept_im[3];
    {
      const unsigned work = th_x;
      if (work < 20) {
        const unsigned butterfly = work;
        const float a0r = shared_re[butterfly], a0i = shared_im[butterfly];
        const float a1r = shared_re[(butterfly * 33 + 660) >> 5], a1i = shared_im[(butterfly * 33 + 660) >> 5];
        const float a2r = shared_re[butterfly + 41], a2i = shared_im[butterfly + 41];
        const float t1r = a1r + a2r, d1r = a1r - a2r;
        const float t1i = a1i + a2i, d1i = a1i - a2i;
        const float b0r = a0r + t1r;
        const float b0i = a0i + t1i;
        const float c1r = a0r + -0.5f * t1r, s1r = 0.866025388f * d1r;
        const float c1i = a0i + -0.5f * t1i, s1i = 0.866025388f * d1i;
        const float b1r = c1r + s1i, b1i = c1i - s1r;
        const float b2r = c1r - s1i, b2i = c1i + s1r;
        kept_re[0] = b0r;
        kept_im[0] = b0i;
        const unsigned root1 = ((butterfly + 180) >> 2) * 2;
        const float w1r = sett_fft_60_c64_w[root1], w1i = sett_fft_60_c64_w[root1 + 1];
        kept_re[1] = b1r * w1r - b1i * w1i;
        kept_im[1] = b1r * w1i + b1i * w1r;
        const unsigned root2 = ((butterfly + 200) >> 2) * 2;
        const float w2r = sett_fft_60_c64_w[root2], w2i = sett_fft_60_c64_w[root2 + 1];
        kept_re[2] = b2r * w2r - b2i * w2i;
        kept_im[2] = b2r * w2i + b2i * w2r;
      }
    }
    __syncthreads();
    {
      const unsigned work = th_x;
      if (work < 20) {
        const unsigned butterfly = work;
        shared_re[(butterfly >> 2) * 8 + butterfly] = kept_re[0];
        shared_im[(butterfly >> 2) * 8 + butterfly] = kept_im[0];
        shared_re[(butterfly >> 2) * 8 + butterfly + 4] = kept_re[1];
        shared_im[(butterfly >> 2) * 8 + butterfly + 4] = kept_im[1];
        shared_re[(butterfly >> 2) * 8 + butterfly + 8] = kept_re[2];
        shared_im[(butterfly >> 2) * 8 + butterfly + 8] = kept_im[2];
      }
    }
    __syncthreads();
  }
  {
    const unsigned work = th_x;
    if (work < 12) {
      const unsigned butterfly = work;
      const unsigned unit = first;
      const unsigned to_at = unit * 60;
      const float a0r = shared_re[butterfly], a0i = shared_im[butterfly];
      const float a1r = shared_re[butterfly + 12], a1i = shared_im[butterfly + 12];
      const float a2r = shared_re[butterfly + 24], a2i = shared_im[butterfly + 24];
      const float a3r = shared_re[butterfly + 36], a3i = shared_im[butterfly + 36];
      const float a4r = shared_re[butterfly + 48], a4i = shared_im[butterfly + 48];
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
      {
        const float re = b0r, im = b0i;
        const unsigned place = 2 * (to_at + butterfly);
        r0[place] = re;
        r0[place + 1] = im;
      }
      {
        const float re = b1r, im = b1i;
        const unsigned place = 2 * (to_at + (butterfly + 12));
        r0[place] = re;
        r0[place + 1] = im;
      }
      {
        const float re = b2r, im = b2i;
        const unsigned place = 2 * (to_at + (butterfly + 24));
        r0[place] = re;
        r0[place + 1] = im;
      }
      {
        const float re = b3r, im = b3i;
        const unsigned place = 2 * (to_at + (butterfly + 36));
        r0[place] = re;
        r0[place + 1] = im;
      }
      {
        const float re = b4r, im = b4i;
        const unsigned place = 2 * (to_at + (butterfly + 48));
        r0[place] = re;
        r0[place + 1] = im;
      }
    }
  }
}
