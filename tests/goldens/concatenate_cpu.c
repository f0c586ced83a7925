// tests/kernels/concatenate_bf16.hlo: threads 1, chunks 1, rows put together 1024 elements at a time
static void sett_concatenate_bf16(const uint16_t *restrict p0, const uint16_t *restrict p1, const uint16_t *restrict p2, uint16_t *restrict r0, size_t number)
{
  (void)number;
  typedef uint16_t word __attribute__((may_alias)); /* the bits of an element, whatever its type */
  ushort32 lines[34];
  word *const staged = (word *)(lines + 1);
  for (uint32_t chunk = 0; chunk < 1; ++chunk) {
    const uint32_t first = 0;
    if (first >= 714) break;
    const uint32_t count = 714 - first < 1024 ? 714 - first : 1024;
    uint32_t row = first / 102, column = first % 102, filled = 0;
    while (filled < count) {
      if (column < 33) { // part 0
        const uint32_t begin = column;
        const uint32_t rest = 33 - begin, n = rest < count - filled ? rest : count - filled;
        for (uint32_t i = 0; i < n; i += 32) {
          const uint32_t at = begin + i < 1 ? begin + i : 1;
          word *const target = staged + filled + at - begin;
          const ushort32 v_a = load_ushort32((const uint16_t *)(p0 + row * 33 + at));
          store_ushort32(v_a, target);
        }
        filled += n;
        column += n;
      }
      if (column < 38) { // part 1
        const uint32_t begin = column - 33;
        const uint32_t rest = 5 - begin, n = rest < count - filled ? rest : count - filled;
        for (uint32_t i = 0; i < n; i += 1) {
          const uint32_t at = begin + i < 4 ? begin + i : 4;
          word *const target = staged + filled + at - begin;
          const float v_b = value_bf16(p1[34 - row * 5 - at]);
          *target = bits_bf16(v_b);
        }
        filled += n;
        column += n;
      }
      if (column < 102) { // part 2
        const uint32_t begin = column - 38;
        const uint32_t rest = 64 - begin, n = rest < count - filled ? rest : count - filled;
        for (uint32_t i = 0; i < n; i += 32) {
          const uint32_t at = begin + i < 32 ? begin + i : 32;
          word *const target = staged + filled + at - begin;
          const ushort32 v_c = load_ushort32((const uint16_t *)(p2 + row * 64 + at));
          store_ushort32(v_c, target);
        }
        filled += n;
        column += n;
      }
      if (column == 102) {
        column = 0;
        ++row;
      }
    }
    for (uint32_t line = 0; line < count / 32; ++line) STORE(lines[line + 1], (ushort32 *)(r0 + first) + line);
    for (uint32_t i = count / 32 * 32; i < count; ++i) ((word *)r0)[first + i] = staged[i];
  }
}
