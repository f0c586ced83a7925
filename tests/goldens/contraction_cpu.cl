// tests/goldens/product_f32.hlo: threads 1, 20 rows by 48 columns, 150 steps at once, totals in an array
/* Computes the sums of a block of `rows` by `units` (vectors of columns): total[i][j] is the sum of row i and unit j. The last unit is last_from (in `total`, last_to) elements behind the first. */
static inline __attribute__((always_inline)) void sett_product_f32_sums(const int units, ptrdiff_t rows, __global const float *single, __global const float *of_units, ptrdiff_t last_from, float *total, ptrdiff_t last_to)
{
  enum { REST = 20 }; /* rows of the last block */
  const int UNITS = TILE_UNITS(units), ROWS = TILE_ROWS(UNITS);
  for (uint k0 = 0; k0 < 300; k0 += 150) {
    const size_t runs = 1;
    const size_t count = 150;
    const int adds = k0 > 0;
    __global const float *const a = single + (ptrdiff_t)k0 * 1;
    __global const float *const b = of_units + (ptrdiff_t)k0 * 40;
    /* register tiles of ROWS by UNITS, down the rows of the block */
    int j = 0;
    for (; j + UNITS <= units; j += UNITS) {
      const ptrdiff_t from = j + 1 < units ? j * (ptrdiff_t)16 : last_from, to = j + 1 < units ? j * (ptrdiff_t)16 : last_to;
      const ptrdiff_t end_from = j + UNITS < units ? (UNITS - 1) * (ptrdiff_t)16 : last_from - from, end_to = j + UNITS < units ? (UNITS - 1) * 16 : last_to - to;
      ptrdiff_t i = 0;
      for (; i + ROWS <= rows; i += ROWS)
        tile_floats(ROWS, UNITS, runs, count, a + i * 300, 300, 1, 0, -1, 0, b + from, 16, end_from, 40, 0, total + i * 48 + to, 48, end_to, adds, 0, 0, 0, 2);
      if (REST % ROWS && i < rows)
        tile_floats(REST % ROWS, UNITS, runs, count, a + i * 300, 300, 1, 0, -1, 0, b + from, 16, end_from, 40, 0, total + i * 48 + to, 48, end_to, adds, 0, 0, 0, 2);
    }
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_product_f32(__global const float *restrict p0, __global const float *restrict p1, __global const float *restrict p2, __global float *restrict r0)
{
  __global const float *const single = p0 + 0;
  __global const float *const of_units = p1 + 0;
  float total[960] __attribute__((aligned(64)));
  const int rows = 20;
  sett_product_f32_sums(3, rows, single, of_units, 24, total, 32);
  /* epilogue: the results, from the sums in total */
  for (int i = 0; i < rows; ++i) {
    const float *from = total + i * 48;
    const uint g0 = (uint)i;
    for (uint unit = 0; unit < 3; ++unit, from += 16) {
      const uint column = unit < 2 ? unit * 16 : 24;
      const float16 v_product = vload16(0, from);
      const float16 v_bias = load_f32_16(p2 + column);
      const float16 v_sums = v_product + v_bias;
      const float16 v_y = ((float16)(0.0f) > v_sums) ? (float16)(0.0f) : v_sums;
      store_f32_16(v_y, r0 + g0 * 40 + column);
    }
  }
}
