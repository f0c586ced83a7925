// tests/kernels/concatenate_bf16.hlo: threads 1, chunks 1, rows put together 1024 elements at a time
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sett_concatenate_bf16(__global const ushort *restrict p0, __global const ushort *restrict p1, __global const ushort *restrict p2, __global ushort *restrict r0)
{
  typedef ushort word __attribute__((may_alias)); /* the bits of an element, whatever its type */
  ushort32 lines[34];
  word *const staged = (word *)(lines + 1);
  for (uint chunk = 0; chunk < 1; ++chunk) {
    const uint first = 0;
    if (first >= 714) break;
    const uint count = 714 - first < 1024 ? 714 - first : 1024;
    uint row = first / 102, column = first % 102, filled = 0;
    while (filled < count) {
      if (column < 33) { // part 0
        const uint begin = column;
        const uint rest = 33 - begin, n = rest < count - filled ? rest : count - filled;
        for (uint i = 0; i < n; i += 32) {
          const uint at = begin + i < 1 ? begin + i : 1;
          word *const target = staged + filled + at - begin;
          const ushort32 v_a = load_u16_32((const __global ushort *)(p0 + row * 33 + at));
          stage_u16_32(v_a, target);
        }
        filled += n;
        column += n;
      }
      if (column < 38) { // part 1
        const uint begin = column - 33;
        const uint rest = 5 - begin, n = rest < count - filled ? rest : count - filled;
        for (uint i = 0; i < n; i += 1) {
          const uint at = begin + i < 4 ? begin + i : 4;
          word *const target = staged + filled + at - begin;
          const float v_b = value_bf16(p1[34 - row * 5 - at]);
          *target = bits_bf16(v_b);
        }
        filled += n;
        column += n;
      }
      if (column < 102) { // part 2
        const uint begin = column - 38;
        const uint rest = 64 - begin, n = rest < count - filled ? rest : count - filled;
        for (uint i = 0; i < n; i += 32) {
          const uint at = begin + i < 32 ? begin + i : 32;
          word *const target = staged + filled + at - begin;
          const ushort32 v_c = load_u16_32((const __global ushort *)(p2 + row * 64 + at));
          stage_u16_32(v_c, target);
        }
        filled += n;
        column += n;
      }
      if (column == 102) {
        column = 0;
        ++row;
      }
    }
    for (uint line = 0; line < count / 32; ++line) STORE(lines[line + 1], (__global ushort32 *)(r0 + first) + line);
    for (uint i = count / 32 * 32; i < count; ++i) ((__global word *)r0)[first + i] = staged[i];
  }
}
