// tests/goldens/strips_f32.hlo: strips of 24 rows: (threads 1, 24 rows by 48 columns, 8 steps at once, totals in the result), (threads 1, 16 rows together, 1 times, 2 accumulators of 16, 3 registers of each kept value), (threads 1, 24 rows by 16 columns, 48 steps at once, totals in the result)
/* Computes the sums of a block of `rows` by `units` (vectors of columns): total[i][j] is the sum of row i and unit j. The last unit is last_from (in `total`, last_to) elements behind the first. */
static inline __attribute__((always_inline)) void sett_strips_f32_part0_sums(const int units, ptrdiff_t rows, const float *single, const float *of_units, ptrdiff_t last_from, float *total, ptrdiff_t last_to)
{
  enum { REST = 24 }; /* rows of the last block */
  const int UNITS = FMA_TILE_UNITS(units), ROWS = FMA_TILE_ROWS(UNITS);
  {
    const size_t runs = 1;
    const size_t count = 8;
    const int adds = 0;
    const float *const a = single;
    const float *const b = of_units;
    /* register tiles of ROWS by UNITS, down the rows of the block */
    int j = 0;
    for (; j + UNITS <= units; j += UNITS) {
      const ptrdiff_t from = j + 1 < units ? j * (ptrdiff_t)16 : last_from, to = j + 1 < units ? j * (ptrdiff_t)16 : last_to;
      const ptrdiff_t end_from = j + UNITS < units ? (UNITS - 1) * (ptrdiff_t)16 : last_from - from, end_to = j + UNITS < units ? (UNITS - 1) * 16 : last_to - to;
      ptrdiff_t i = 0;
      for (; i + ROWS <= rows; i += ROWS)
        tile_floats(ROWS, UNITS, runs, count, a + i * 8, 8, 1, 0, -1, 0, b + from, 16, end_from, 48, 0, total + i * 48 + to, 48, end_to, adds, 0, 0, 0, 2);
      if (REST % ROWS && i < rows)
        tile_floats(REST % ROWS, UNITS, runs, count, a + i * 8, 8, 1, 0, -1, 0, b + from, 16, end_from, 48, 0, total + i * 48 + to, 48, end_to, adds, 0, 0, 0, 2);
    }
  }
}

static void sett_strips_f32_part0(const float *restrict p0, const float *restrict p1, float *restrict q0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  const uint32_t g0 = bl_x;
  (void)g0;
  const float *const single = p0 + g0 * 192;
  const float *const of_units = p1 + g0 * 384;
  float *const total = q0 + 0;
  const int rows = 24;
  sett_strips_f32_part0_sums(3, rows, single, of_units, 32, total, 32);
}
static void sett_strips_f32_part1(const float *restrict q0, float *restrict q3, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  const uint32_t g0 = bl_x;
  const uint32_t chunk = 0;
  (void)g0, (void)chunk;
  float16 kept0[48];
  for (uint32_t block = chunk * 1; block < 2; ++block)
  {
    const uint32_t first = block < 1 ? block * 16 : 8;
    float of_row0[16];
    float of_row1[16];
    // stage 0
    float16 b0[16];
    for (uint32_t row = 0; row < 16; ++row)
    {
      float16 a0[2];
      UNROLL
      for (uint32_t vec = 0; vec < 2; ++vec) {
        a0[vec] = splat_float16(float_of_bits(0xff800000u));
      }
      {
        {
          for (uint32_t step = 0; step < 1; ++step)
          {
            UNROLL
            for (uint32_t vec = 0; vec < 2; ++vec) {
              const float16 v_scores_of1 = *(const float16 *)(q0 + (first + row) * 48 + vec * 16);
              const float16 v_m = maximum_f32_16(a0[vec], v_scores_of1);
              a0[vec] = v_m;
            }
          }
        }
        // the end of the row: its registers overlap the last step
        {
          const float16 v_scores_of1 = *(const float16 *)(q0 + (first + row) * 48 + 32);
          const float16 v_m = maximum_f32_16(a0[0], v_scores_of1);
          a0[0] = v_m;
        }
      }
      UNROLL
      for (uint32_t vec = 1; vec < 2; ++vec) {
        const float16 v_m = maximum_f32_16(a0[0], a0[vec]);
        a0[0] = v_m;
      }
      b0[row] = a0[0];
    }
    float16 half8_0[8];
    UNROLL
    for (uint32_t vec = 0; vec < 8; ++vec) {
      const float16 even0 = even_f32(b0[2 * vec], b0[2 * vec + 1]);
      const float16 odd0 = odd_f32(b0[2 * vec], b0[2 * vec + 1]);
      const float16 v_m = maximum_f32_16(even0, odd0);
      half8_0[vec] = v_m;
    }
    float16 half4_0[4];
    UNROLL
    for (uint32_t vec = 0; vec < 4; ++vec) {
      const float16 even0 = even_f32(half8_0[2 * vec], half8_0[2 * vec + 1]);
      const float16 odd0 = odd_f32(half8_0[2 * vec], half8_0[2 * vec + 1]);
      const float16 v_m = maximum_f32_16(even0, odd0);
      half4_0[vec] = v_m;
    }
    float16 half2_0[2];
    UNROLL
    for (uint32_t vec = 0; vec < 2; ++vec) {
      const float16 even0 = even_f32(half4_0[2 * vec], half4_0[2 * vec + 1]);
      const float16 odd0 = odd_f32(half4_0[2 * vec], half4_0[2 * vec + 1]);
      const float16 v_m = maximum_f32_16(even0, odd0);
      half2_0[vec] = v_m;
    }
    float16 t0[1];
    UNROLL
    for (uint32_t vec = 0; vec < 1; ++vec) {
      const float16 even0 = even_f32(half2_0[2 * vec], half2_0[2 * vec + 1]);
      const float16 odd0 = odd_f32(half2_0[2 * vec], half2_0[2 * vec + 1]);
      const float16 v_m = maximum_f32_16(even0, odd0);
      t0[vec] = v_m;
    }
    {
      store_float16(t0[0], of_row0);
    }
    // stage 1
    float16 b1[16];
    for (uint32_t row = 0; row < 16; ++row)
    {
      float16 a1[2];
      UNROLL
      for (uint32_t vec = 0; vec < 2; ++vec) {
        a1[vec] = splat_float16(0.0f);
      }
      {
        {
          for (uint32_t step = 0; step < 1; ++step)
          {
            UNROLL
            for (uint32_t vec = 0; vec < 2; ++vec) {
              const float16 v_scores_of1 = *(const float16 *)(q0 + (first + row) * 48 + vec * 16);
              const float16 v_from_top = v_scores_of1 - splat_float16(of_row0[row]);
              const float16 v_exponentials = exp_f32_16(v_from_top);
              kept0[row * 3 + step * 2 + vec] = v_exponentials;
              const float16 v_s = a1[vec] + v_exponentials;
              a1[vec] = v_s;
            }
          }
        }
        // the end of the row: its registers overlap the last step
        {
          const float16 v_scores_of1 = *(const float16 *)(q0 + (first + row) * 48 + 32);
          const float16 v_from_top = v_scores_of1 - splat_float16(of_row0[row]);
          const float16 v_exponentials = exp_f32_16(v_from_top);
          kept0[row * 3 + 2] = v_exponentials;
          const float16 v_s = a1[0] + v_exponentials;
          a1[0] = v_s;
        }
      }
      UNROLL
      for (uint32_t vec = 1; vec < 2; ++vec) {
        const float16 v_s = a1[0] + a1[vec];
        a1[0] = v_s;
      }
      b1[row] = a1[0];
    }
    float16 half8_1[8];
    UNROLL
    for (uint32_t vec = 0; vec < 8; ++vec) {
      const float16 even1 = even_f32(b1[2 * vec], b1[2 * vec + 1]);
      const float16 odd1 = odd_f32(b1[2 * vec], b1[2 * vec + 1]);
      const float16 v_s = even1 + odd1;
      half8_1[vec] = v_s;
    }
    float16 half4_1[4];
    UNROLL
    for (uint32_t vec = 0; vec < 4; ++vec) {
      const float16 even1 = even_f32(half8_1[2 * vec], half8_1[2 * vec + 1]);
      const float16 odd1 = odd_f32(half8_1[2 * vec], half8_1[2 * vec + 1]);
      const float16 v_s = even1 + odd1;
      half4_1[vec] = v_s;
    }
    float16 half2_1[2];
    UNROLL
    for (uint32_t vec = 0; vec < 2; ++vec) {
      const float16 even1 = even_f32(half4_1[2 * vec], half4_1[2 * vec + 1]);
      const float16 odd1 = odd_f32(half4_1[2 * vec], half4_1[2 * vec + 1]);
      const float16 v_s = even1 + odd1;
      half2_1[vec] = v_s;
    }
    float16 t1[1];
    UNROLL
    for (uint32_t vec = 0; vec < 1; ++vec) {
      const float16 even1 = even_f32(half2_1[2 * vec], half2_1[2 * vec + 1]);
      const float16 odd1 = odd_f32(half2_1[2 * vec], half2_1[2 * vec + 1]);
      const float16 v_s = even1 + odd1;
      t1[vec] = v_s;
    }
    {
      store_float16(t1[0], of_row1);
    }
    // stage 2
    for (uint32_t row = 0; row < 16; ++row)
    {
      {
        {
          for (uint32_t step = 0; step < 1; ++step)
          {
            UNROLL
            for (uint32_t vec = 0; vec < 2; ++vec) {
              const float16 v_weights = quotient_f32_16(kept0[row * 3 + step * 2 + vec], splat_float16(of_row1[row]));
              STORE(v_weights, (float16 *)(q3 + (first + row) * 48 + vec * 16));
            }
          }
        }
        // the end of the row: its registers overlap the last step
        {
          const float16 v_weights = quotient_f32_16(kept0[row * 3 + 2], splat_float16(of_row1[row]));
          STORE(v_weights, (float16 *)(q3 + (first + row) * 48 + 32));
        }
      }
    }
  }
}
/* Computes the sums of a block of `rows` by `units` (vectors of columns): total[i][j] is the sum of row i and unit j. The last unit is last_from (in `total`, last_to) elements behind the first. */
static inline __attribute__((always_inline)) void sett_strips_f32_part4_sums(const int units, ptrdiff_t rows, const float *single, const float *of_units, ptrdiff_t last_from, float *total, ptrdiff_t last_to)
{
  enum { REST = 24 }; /* rows of the last block */
  const int UNITS = FMA_TILE_UNITS(units), ROWS = FMA_TILE_ROWS(UNITS);
  {
    const size_t runs = 1;
    const size_t count = 48;
    const int adds = 0;
    const float *const a = single;
    const float *const b = of_units;
    /* register tiles of ROWS by UNITS, down the rows of the block */
    int j = 0;
    for (; j + UNITS <= units; j += UNITS) {
      const ptrdiff_t from = j + 1 < units ? j * (ptrdiff_t)16 : last_from, to = j + 1 < units ? j * (ptrdiff_t)16 : last_to;
      const ptrdiff_t end_from = j + UNITS < units ? (UNITS - 1) * (ptrdiff_t)16 : last_from - from, end_to = j + UNITS < units ? (UNITS - 1) * 16 : last_to - to;
      ptrdiff_t i = 0;
      for (; i + ROWS <= rows; i += ROWS)
        tile_floats(ROWS, UNITS, runs, count, a + i * 48, 48, 1, 0, -1, 0, b + from, 16, end_from, 16, 0, total + i * 16 + to, 16, end_to, adds, 0, 0, 0, 2);
      if (REST % ROWS && i < rows)
        tile_floats(REST % ROWS, UNITS, runs, count, a + i * 48, 48, 1, 0, -1, 0, b + from, 16, end_from, 16, 0, total + i * 16 + to, 16, end_to, adds, 0, 0, 0, 2);
    }
  }
}

static void sett_strips_f32_part4(const float *restrict p2, const float *restrict q3, float *restrict r0, size_t number)
{
  const uint32_t bl_x = (uint32_t)number;
  const uint32_t g0 = bl_x;
  (void)g0;
  const float *const single = q3 + 0;
  const float *const of_units = p2 + g0 * 768;
  float *const total = r0 + g0 * 384;
  const int rows = 24;
  sett_strips_f32_part4_sums(1, rows, single, of_units, 0, total, 0);
}
static void sett_strips_f32_part0_strips(const float *restrict p0, const float *restrict p1, const float *restrict p2, float *restrict r0, size_t number)
{
  const size_t strip = number;
  float q0[1152] __attribute__((aligned(64))); /* an intermediate array of the strip */
  float q3[1152] __attribute__((aligned(64))); /* an intermediate array of the strip */
  sett_strips_f32_part0(p0, p1, q0, strip);
  sett_strips_f32_part1(q0, q3, strip);
  sett_strips_f32_part4(p2, q3, r0, strip);
}
