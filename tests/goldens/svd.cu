// tests/goldens/svd_f32.hlo: threads 64, 100 matrices, 1 a work-item, in local arrays
extern "C" __global__ __launch_bounds__(64) void sett_svd_f32(const float *__restrict__ p0, float *__restrict__ r0, float *__restrict__ r1, float *__restrict__ r2, float *__restrict__ r3, int *__restrict__ r4)
{
  const int bl_x = (int)blockIdx.x;
  const int th_x = (int)threadIdx.x;
  const int matrix = bl_x * 64 + th_x;
  if (matrix < 100) {
    const int p0_at = matrix * 12;
    const int r0_at = matrix * 12;
    const int r1_at = matrix * 3;
    const int r2_at = matrix * 12;
    const int r3_at = matrix * 9;
    const int r4_at = matrix;
    float w0[12];
    float w1[9];
    float most = 0;
    int turned = 1;
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 4; ++i) r0[r0_at + i + j * 4] = p0[p0_at + i + j * 4];
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 4; ++i) {
        const float x = fabsf(p0[p0_at + j * 4 + i]);
        if (!(x <= most)) most = x;
      }
    const int finite = most - most == 0;
    if (most == 0) most = 1;
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 4; ++i) w0[j * 4 + i] = p0[p0_at + j * 4 + i] / most;
      for (int i = 0; i < 3; ++i) w1[j * 3 + i] = i == j ? 1 : 0;
    }
    for (int sweep = 0; sweep < 40 && turned && finite; ++sweep) {
      turned = 0;
      for (int p = 0; p < 2; ++p)
        for (int q = p + 1; q < 3; ++q) {
          float pp = 0;
          for (int i = 0; i < 4; ++i) pp += w0[p * 4 + i] * w0[p * 4 + i];
          float qq = 0;
          for (int i = 0; i < 4; ++i) qq += w0[q * 4 + i] * w0[q * 4 + i];
          float pq = 0;
          for (int i = 0; i < 4; ++i) pq += w0[p * 4 + i] * w0[q * 4 + i];
          if (pq == 0 || fabsf(pq) <= 2 * 0x1p-24f * sqrtf(pp) * sqrtf(qq)) continue;
          turned = 1;
          const float angle = (qq - pp) / (2 * pq), length = fabsf(angle) + sqrtf(angle * angle + 1);
          const float tangent = angle < 0 ? -1 / length : 1 / length;
          const float c = 1 / sqrtf(tangent * tangent + 1), s = tangent * c;
          for (int i = 0; i < 4; ++i) {
            const float y = w0[p * 4 + i], z = w0[q * 4 + i];
            w0[p * 4 + i] = c * y - s * z;
            w0[q * 4 + i] = s * y + c * z;
          }
          for (int i = 0; i < 3; ++i) {
            const float y = w1[p * 3 + i], z = w1[q * 3 + i];
            w1[p * 3 + i] = c * y - s * z;
            w1[q * 3 + i] = s * y + c * z;
          }
        }
    }
    for (int to = 0; to < 3; ++to) {
      int longest = to;
      float square = -1;
      for (int j = to; j < 3; ++j) {
        float sum = 0;
        for (int i = 0; i < 4; ++i) sum += w0[j * 4 + i] * w0[j * 4 + i];
        if (sum > square) {
          square = sum;
          longest = j;
        }
      }
      const float length = sqrtf(square);
      for (int i = 0; i < 4; ++i) {
        const float y = w0[to * 4 + i];
        w0[to * 4 + i] = w0[longest * 4 + i];
        w0[longest * 4 + i] = y;
      }
      for (int i = 0; i < 3; ++i) {
        const float y = w1[to * 3 + i];
        w1[to * 3 + i] = w1[longest * 3 + i];
        w1[longest * 3 + i] = y;
      }
      for (int i = 0; i < 4; ++i) r2[r2_at + to * 4 + i] = length > 0 ? w0[to * 4 + i] / length : 0;
      r1[r1_at + to] = finite ? length * most : NAN;
    }
    for (int to = 0; to < 3; ++to) {
      if (r1[r1_at + to] == 0) {
        int best = 0;
        float left = -1;
        for (int k = 0; k < 4; ++k) {
          float outside = 1;
          for (int j = 0; j < to; ++j) outside -= r2[r2_at + j * 4 + k] * r2[r2_at + j * 4 + k];
          if (outside > left) {
            left = outside;
            best = k;
          }
        }
        for (int i = 0; i < 4; ++i) r2[r2_at + to * 4 + i] = i == best ? 1 : 0;
        for (int turn = 0; turn < 2; ++turn) {
          for (int j = 0; j < to; ++j) {
            float dot = 0;
            for (int i = 0; i < 4; ++i) dot += r2[r2_at + j * 4 + i] * r2[r2_at + to * 4 + i];
            for (int i = 0; i < 4; ++i) r2[r2_at + to * 4 + i] -= dot * r2[r2_at + j * 4 + i];
          }
          float sum = 0;
          for (int i = 0; i < 4; ++i) sum += r2[r2_at + to * 4 + i] * r2[r2_at + to * 4 + i];
          for (int i = 0; i < 4; ++i) r2[r2_at + to * 4 + i] /= sqrtf(sum);
        }
      }
    }
    for (int to = 0; to < 3; ++to) {
      float largest = 0, sign = 1;
      for (int i = 0; i < 4; ++i)
        if (fabsf(r2[r2_at + to * 4 + i]) > largest) {
          largest = fabsf(r2[r2_at + to * 4 + i]);
          sign = r2[r2_at + to * 4 + i] < 0 ? -1 : 1;
        }
      for (int i = 0; i < 3; ++i) r3[r3_at + to + i * 3] = w1[to * 3 + i] * sign;
      for (int i = 0; i < 4; ++i) r2[r2_at + to * 4 + i] *= sign;
    }
    if (!finite)
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 3; ++j) r2[r2_at + j * 4 + i] = NAN;
        for (int j = 0; j < 3 && i < 3; ++j) r3[r3_at + j + i * 3] = NAN;
      }
    r4[r4_at] = finite ? 0 : 1;
  }
}
