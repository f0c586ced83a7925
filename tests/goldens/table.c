// tests/kernels/gelu_bf16.hlo: threads 1, chunks 64, vec 1, lanes 32, streams 2, streamed, table, prefetch 4096/1024 in bursts of 8
static inline uint16_t sett_gelu_bf16_value(uint16_t x)
{
  const float v_x = value_bf16(x);
  const float v_x2 = round_bf16(v_x * v_x);
  const float v_x3 = round_bf16(v_x2 * v_x);
  const float v_bend = round_bf16(0.044677734f * v_x3);
  const float v_bent = round_bf16(v_x + v_bend);
  const float v_angle = round_bf16(0.796875f * v_bent);
  const float v_t = round_bf16(tanhf(v_angle));
  const float v_gate = round_bf16(1.0f + v_t);
  const float v_half_gate = round_bf16(0.5f * v_gate);
  const float v_y = round_bf16(v_x * v_half_gate);
  return (uint16_t)(bits_bf16(v_y));
}

static void sett_gelu_bf16_fill(uint16_t *table)
{
  for (uint32_t x = 0; x < 65536; ++x)
  table[x] = sett_gelu_bf16_value((uint16_t)x);
}

static void sett_gelu_bf16(const uint16_t *restrict p0, uint16_t *restrict r0, const uint16_t *restrict table, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  for (uint32_t first = 0; first < 64; first += 8)
  for (uint32_t stream = 0; stream < 2; ++stream)
  {
    for (uint32_t chunk = first; chunk < first + 8; ++chunk) {
      PREFETCH_BURST_L2(p0 + bl_x * 2048 + stream * 6291456 + chunk * 32, 4096);
    }
    for (uint32_t chunk = first; chunk < first + 8; ++chunk) {
      UNROLL
      for (uint32_t part = 0; part < 32; part += 8) {
        STREAM(look_up(table, p0 + bl_x * 2048 + stream * 6291456 + chunk * 32 + part), (ushort8 *)(r0 + bl_x * 2048 + stream * 6291456 + chunk * 32 + part));
      }
    }
  }
}
