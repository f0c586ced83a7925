// tests/kernels/gelu_bf16.hlo: threads 16, chunks 64, vec 1, lanes 32, streams 2, streamed, table, prefetch 4096/1024 in bursts of 8
static inline ushort sett_gelu_bf16_value(ushort x)
{
  const float v_x = value_bf16(x);
  const float v_x2 = round_bf16(v_x * v_x);
  const float v_x3 = round_bf16(v_x2 * v_x);
  const float v_bend = round_bf16(0.044677734f * v_x3);
  const float v_bent = round_bf16(v_x + v_bend);
  const float v_angle = round_bf16(0.796875f * v_bent);
  const float v_t = round_bf16(tanh(v_angle));
  const float v_gate = round_bf16(1.0f + v_t);
  const float v_half_gate = round_bf16(0.5f * v_gate);
  const float v_y = round_bf16(v_x * v_half_gate);
  return (ushort)(bits_bf16(v_y));
}

__kernel void sett_gelu_bf16_fill(__global ushort *table)
{
  const uint x = get_global_id(0);
  table[x] = sett_gelu_bf16_value((ushort)x);
}

__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void sett_gelu_bf16(__global const ushort *restrict p0, __global ushort *restrict r0, __global const ushort *restrict table)
{
  const uint bl_x = (uint)get_group_id(0);
  const uint th_x = (uint)get_local_id(0);
  for (uint first = 0; first < 64; first += 8)
  for (uint stream = 0; stream < 2; ++stream)
  {
    for (uint chunk = first; chunk < first + 8; ++chunk) {
      PREFETCH_BURST_L2(p0 + th_x * 2048 + bl_x * 32768 + stream * 6291456 + chunk * 32 + 2048);
    }
    for (uint chunk = first; chunk < first + 8; ++chunk) {
      #pragma unroll
      for (uint part = 0; part < 32; part += 8) {
        STREAM(look_up(table, p0 + th_x * 2048 + bl_x * 32768 + stream * 6291456 + chunk * 32 + part), (__global ushort8 *)(r0 + th_x * 2048 + bl_x * 32768 + stream * 6291456 + chunk * 32 + part));
      }
    }
  }
}
