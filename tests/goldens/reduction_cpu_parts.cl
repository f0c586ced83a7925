// bench/full_sum_f32.hlo: parts, threads 1, 1 accumulators of 1
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_full_sum_f32_parts(__global const float *restrict q0, __global float *restrict r0)
{
  float t0[1];
  for (uint vec = 0; vec < 1; ++vec) {
    t0[vec] = 0.0f;
  }
  for (uint part = 0; part < 32; ++part) {
    const float v_x = q0[part];
    const float v_c = t0[0] + v_x;
    t0[0] = v_c;
  }
  {
    r0[0] = t0[0];
  }
}
