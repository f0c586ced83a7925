// tests/goldens/schur_c64.hlo: threads 1, 3 matrices, 1 a work-item, in memory
static void sett_schur_c64(const c64 *restrict p0, c64 *restrict q0, c64 *restrict q1, float *restrict q2, c64 *restrict r0, c64 *restrict r1, c64 *restrict r2, int32_t *restrict r3, int32_t *restrict r4, size_t number)
{
  const int32_t bl_x = (int32_t)number;
  const int32_t matrix = bl_x;
  const int32_t p0_at = matrix * 64;
  const int32_t r0_at = matrix * 64;
  const int32_t r1_at = matrix * 64;
  const int32_t r2_at = matrix * 8;
  const int32_t r3_at = matrix;
  const int32_t r4_at = matrix;
  const int32_t q0_at = matrix * 64;
  const int32_t q1_at = matrix * 16;
  const int32_t q2_at = matrix * 8;
  for (int32_t j = 0; j < 8; ++j)
    for (int32_t i = 0; i < 8; ++i) r0[r0_at + i + j * 8] = p0[p0_at + i + j * 8];
  memset(r3 + r3_at, 0, sizeof(int32_t) * 1);
  memset((float *)(r2 + r2_at), 0, sizeof(float) * 16);
  memset((float *)(q0 + q0_at), 0, sizeof(float) * 128);
  float rest = 0;
  for (int32_t i = 0; i < 128; ++i) rest += ((float *)(r0 + r0_at))[i] - ((float *)(r0 + r0_at))[i];
  if (rest == 0) {
    cgees_("V", "N", NULL, &(int32_t){8}, r0 + r0_at, &(int32_t){8}, r3 + r3_at, r2 + r2_at, q0 + q0_at, &(int32_t){8}, q1 + q1_at, &(int32_t){16}, q2 + q2_at, NULL, r4 + r4_at, 1, 1);
  } else {
    for (int32_t i = 0; i < 128; ++i) ((float *)(r0 + r0_at))[i] = float_of_bits(0x7fc00000u);
    for (int32_t i = 0; i < 16; ++i) ((float *)(r2 + r2_at))[i] = float_of_bits(0x7fc00000u);
    for (int32_t i = 0; i < 128; ++i) ((float *)(q0 + q0_at))[i] = float_of_bits(0x7fc00000u);
    *(r4 + r4_at) = -4;
  }
  for (int32_t j = 0; j < 8; ++j)
    for (int32_t i = 0; i < 8; ++i) r1[r1_at + i * 8 + j] = q0[q0_at + i + j * 8];
}
