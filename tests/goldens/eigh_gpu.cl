// tests/goldens/eigh_large_f32.hlo: threads 128, 32 across, 2 matrices, 1 block each, in shared memory in rows of 21
__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void sett_eigh_large_f32(__global const float *restrict p0, __global float *restrict r0, __global float *restrict r1, __global int *restrict r2)
{
  __local float tile[420];
  __local float vectors[420];
  __local float cosines[10];
  __local float sines[10];
  __local float sums[32];
  __local int firsts[10];
  __local int seconds[10];
  __local int flags[10];
  __local int turned[1];
  __local float signs[20];
  __local int order[20];
  const int bl_x = (int)get_group_id(0);
  const int th_x = (int)get_local_id(0);
  const int lane = th_x % 32, group = th_x / 32;
  const int matrix = bl_x;
  const int p0_at = matrix * 400;
  const int r0_at = matrix * 400;
  const int r1_at = matrix * 20;
  const int r2_at = matrix;
  for (int j = group; j < 20; j += 4)
    for (int i = lane; i < 20; i += 32) tile[i * 21 + j] = i >= j ? p0[p0_at + i + j * 20] : p0[p0_at + j + i * 20];
  for (int i = group; i < 20; i += 4)
    for (int j = lane; j < 20; j += 32) vectors[i * 21 + j] = i == j;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (th_x < 32) {
    float sum = 0;
    for (int i = th_x; i < 20; i += 32)
      for (int j = 0; j < 20; ++j) sum += fabs(tile[i * 21 + j]);
    sums[th_x] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float all = 0;
  for (int p = 0; p < 32; ++p) all += sums[p];
  const int finite = all - all == 0;
  if (th_x == 0) turned[0] = finite;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int sweep = 0; sweep < 40 && turned[0]; ++sweep) {
    for (int round = 0; round < 19; ++round) {
      for (int pair = th_x; pair < 10; pair += 128) {
        const int p = (round + pair) % 19, q = pair == 0 ? 19 : (round + 19 - pair) % 19;
        const float off = tile[p * 21 + q];
        float c = 1, s = 0;
        if (round == 0) flags[pair] = 0;
        if (fabs(off) > all * 0x1p-24f / 20) {
          flags[pair] = 1;
          const float angle = (tile[q * 21 + q] - tile[p * 21 + p]) / (2 * off);
          const float size = fabs(angle) + sqrt(angle * angle + 1);
          const float tangent = angle < 0 ? -1 / size : 1 / size;
          c = 1 / sqrt(tangent * tangent + 1);
          s = tangent * c;
        }
        firsts[pair] = (int)p;
        seconds[pair] = (int)q;
        cosines[pair] = c;
        sines[pair] = s;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int pair = group; pair < 10; pair += 4) {
        const int p = firsts[pair], q = seconds[pair];
        const float c = cosines[pair], s = sines[pair];
        for (int other = lane; other < 10; other += 32) {
          const int f = firsts[other], g = seconds[other];
          const float e = cosines[other], u = sines[other];
          const float pf = tile[p * 21 + f], pg = tile[p * 21 + g], qf = tile[q * 21 + f], qg = tile[q * 21 + g];
          const float xf = c * pf - s * qf, xg = c * pg - s * qg, yf = s * pf + c * qf, yg = s * pg + c * qg;
          tile[p * 21 + f] = e * xf - u * xg;
          tile[p * 21 + g] = u * xf + e * xg;
          tile[q * 21 + f] = e * yf - u * yg;
          tile[q * 21 + g] = u * yf + e * yg;
        }
        for (int k = lane; k < 20; k += 32) {
          const float x = vectors[p * 21 + k], y = vectors[q * 21 + k];
          vectors[p * 21 + k] = c * x - s * y;
          vectors[q * 21 + k] = s * x + c * y;
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (th_x == 0) {
      int any = 0;
      for (int pair = 0; pair < 10; ++pair) any |= flags[pair];
      turned[0] = any;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = th_x; i < 20; i += 128) {
    const float value = tile[i * 21 + i];
    int to = finite ? 0 : i;
    for (int k = 0; k < 20 && finite; ++k) to += tile[k * 21 + k] < value || (tile[k * 21 + k] == value && k < i);
    r1[r1_at + to] = finite ? value : as_float(0x7fc00000u);
    float most = 0, sign = 1;
    for (int k = 0; k < 20; ++k) {
      const float x = vectors[i * 21 + k];
      if (fabs(x) > most) {
        most = fabs(x);
        sign = x < 0 ? -1 : 1;
      }
    }
    order[to] = (int)i;
    signs[to] = sign;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int j = group; j < 20; j += 4)
    for (int i = lane; i < 20; i += 32) r0[r0_at + i + j * 20] = finite ? vectors[order[j] * 21 + i] * signs[j] : as_float(0x7fc00000u);
  if (th_x == 0) r2[r2_at] = finite ? 0 : 1;
}
