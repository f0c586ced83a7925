// bench/full_sum_f32.hlo: parts, threads 1, 1 accumulators of 1
static void sett_full_sum_f32_parts(const float *restrict q0, float *restrict r0, size_t number)
{
  (void)number;
  float t0[1];
  for (uint32_t vec = 0; vec < 1; ++vec) {
    t0[vec] = 0.0f;
  }
  for (uint32_t part = 0; part < 32; ++part) {
    const float v_x = q0[part];
    const float v_c = t0[0] + v_x;
    t0[0] = v_c;
  }
  {
    r0[0] = t0[0];
  }
}
