// tests/goldens/svd_large_f32.hlo: threads 256, 32 across, 2 matrices, 1 block each, in shared memory in rows of 21
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void sett_svd_large_f32(__global const float *restrict p0, __global float *restrict r0, __global float *restrict r1, __global float *restrict r2, __global float *restrict r3, __global int *restrict r4)
{
  __local float tile[378];
  __local float vectors[342];
  __local float parts[768];
  __local float sizes[32];
  __local float squares[18];
  __local int flags[8];
  __local int turned[1];
  __local float signs[18];
  __local float vector[20];
  __local float dots[20];
  __local int order[18];
  __local int places[32];
  const int bl_x = (int)get_group_id(0);
  const int th_x = (int)get_local_id(0);
  const int lane = th_x % 32, group = th_x / 32;
  const int matrix = bl_x;
  const int p0_at = matrix * 360;
  const int r0_at = matrix * 360;
  const int r1_at = matrix * 18;
  const int r2_at = matrix * 360;
  const int r3_at = matrix * 324;
  const int r4_at = matrix;
  for (int j = group; j < 18; j += 8)
    for (int i = lane; i < 20; i += 32) r0[r0_at + i + j * 20] = p0[p0_at + i + j * 20];
  for (int i = group; i < 18; i += 8)
    for (int j = lane; j < 20; j += 32) tile[i * 21 + j] = p0[p0_at + i * 20 + j];
  for (int i = group; i < 18; i += 8)
    for (int j = lane; j < 18; j += 32) vectors[i * 19 + j] = i == j;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (th_x < 32) {
    float largest = 0, wrong = 0;
    for (int i = th_x; i < 20; i += 32)
      for (int j = 0; j < 18; ++j) {
        const float x = fabs(tile[j * 21 + i]);
        wrong += x - x;
        if (x > largest) largest = x;
      }
    sizes[th_x] = largest + wrong;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float most = 0, wrong = 0;
  for (int p = 0; p < 32; ++p) {
    wrong += sizes[p] - sizes[p];
    if (sizes[p] > most) most = sizes[p];
  }
  const int finite = wrong == 0;
  if (most == 0) most = 1;
  for (int i = group; i < 18; i += 8)
    for (int j = lane; j < 20; j += 32) tile[i * 21 + j] /= most;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (th_x == 0) turned[0] = finite;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int sweep = 0; sweep < 40 && turned[0]; ++sweep) {
    int mine = 0;
    for (int round = 0; round < 17; ++round)
      for (int base = 0; base < 9; base += 8) {
        const int pair = base + group;
        const int p = (round + pair) % 17, q = pair == 0 ? 17 : (round + 17 - pair) % 17;
        if (pair < 9) {
          float pp = 0, qq = 0, pq = 0;
          for (int i = lane; i < 20; i += 32) {
            const float x = tile[p * 21 + i], y = tile[q * 21 + i];
            pp += x * x;
            qq += y * y;
            pq += x * y;
          }
          parts[th_x] = pp;
          parts[th_x + 256] = qq;
          parts[th_x + 512] = pq;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (pair < 9) {
          float pp = 0, qq = 0, pq = 0;
          for (int k = th_x - lane; k < th_x - lane + 32; ++k) {
            pp += parts[k];
            qq += parts[k + 256];
            pq += parts[k + 512];
          }
          const int turns = pq != 0 && fabs(pq) > 2 * 0x1p-24f * sqrt(pp) * sqrt(qq);
          mine |= turns;
          if (turns) {
            const float angle = (qq - pp) / (2 * pq), length = fabs(angle) + sqrt(angle * angle + 1);
            const float tangent = angle < 0 ? -1 / length : 1 / length;
            const float c = 1 / sqrt(tangent * tangent + 1), s = tangent * c;
            for (int i = lane; i < 20; i += 32) {
              const float y = tile[p * 21 + i], z = tile[q * 21 + i];
              tile[p * 21 + i] = c * y - s * z;
              tile[q * 21 + i] = s * y + c * z;
            }
            for (int i = lane; i < 18; i += 32) {
              const float y = vectors[p * 19 + i], z = vectors[q * 19 + i];
              vectors[p * 19 + i] = c * y - s * z;
              vectors[q * 19 + i] = s * y + c * z;
            }
          }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
      }
    if (lane == 0) flags[group] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (th_x == 0) {
      int any = 0;
      for (int g = 0; g < 8; ++g) any |= flags[g];
      turned[0] = any;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int j = th_x; j < 18; j += 256) {
    float square = 0;
    for (int i = 0; i < 20; ++i) square += tile[j * 21 + i] * tile[j * 21 + i];
    squares[j] = square;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int j = th_x; j < 18; j += 256) {
    int to = finite ? 0 : j;
    for (int k = 0; k < 18 && finite; ++k) to += squares[k] > squares[j] || (squares[k] == squares[j] && k < j);
    r1[r1_at + to] = finite ? sqrt(squares[j]) * most : as_float(0x7fc00000u);
    order[to] = (int)j;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = group; i < 18; i += 8)
    for (int j = lane; j < 20; j += 32) r2[r2_at + i * 20 + j] = squares[order[i]] > 0 ? tile[order[i] * 21 + j] / sqrt(squares[order[i]]) : 0;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  int decided = 0;
  for (int j = 0; j < 18; ++j) decided += squares[j] > 0;
  if (!finite) decided = 18;
  for (int to = decided; to < 18; ++to) {
    if (th_x < 32) {
      float left = -1;
      int place = th_x;
      for (int k = th_x; k < 20; k += 32) {
        float outside = 1;
        for (int j = 0; j < to; ++j) outside -= r2[r2_at + j * 20 + k] * r2[r2_at + j * 20 + k];
        if (outside > left) {
          left = outside;
          place = k;
        }
      }
      sizes[th_x] = left;
      places[th_x] = (int)place;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int best = 0;
    for (int p = 1; p < 32; ++p)
      if (sizes[p] > sizes[best]) best = p;
    for (int i = th_x; i < 20; i += 256) vector[i] = i == places[best];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int turn = 0; turn < 2; ++turn) {
      for (int j = th_x; j < to; j += 256) {
        float dot = 0;
        for (int i = 0; i < 20; ++i) dot += r2[r2_at + j * 20 + i] * vector[i];
        dots[j] = dot;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = th_x; i < 20; i += 256)
        for (int j = 0; j < to; ++j) vector[i] -= dots[j] * r2[r2_at + j * 20 + i];
      barrier(CLK_LOCAL_MEM_FENCE);
      float square = 0;
      for (int i = 0; i < 20; ++i) square += vector[i] * vector[i];
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int i = th_x; i < 20; i += 256) vector[i] /= sqrt(square);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = th_x; i < 20; i += 256) r2[r2_at + to * 20 + i] = vector[i];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  for (int to = th_x; to < 18; to += 256) {
    float largest = 0, sign = 1;
    for (int i = 0; i < 20; ++i)
      if (fabs(r2[r2_at + to * 20 + i]) > largest) {
        largest = fabs(r2[r2_at + to * 20 + i]);
        sign = r2[r2_at + to * 20 + i] < 0 ? -1 : 1;
      }
    signs[to] = sign;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (int j = group; j < 18; j += 8)
    for (int i = lane; i < 18; i += 32) r3[r3_at + i + j * 18] = finite ? vectors[order[i] * 19 + j] * signs[i] : as_float(0x7fc00000u);
  for (int i = group; i < 18; i += 8)
    for (int j = lane; j < 20; j += 32) r2[r2_at + i * 20 + j] = finite ? r2[r2_at + i * 20 + j] * signs[i] : as_float(0x7fc00000u);
  if (th_x == 0) r4[r4_at] = finite ? 0 : 1;
}
