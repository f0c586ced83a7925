/* A tiled buffer and a generated kernel in C++17. The program fills the buffer at the positions that the header computes,
 * and the kernel reads the elements there. */
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include "column_mean.h" // declares extern "C" functions, because the kernel is compiled as C
#include "sett_tile.h"

// Memory aligned to 64 bytes, which is fastest for kernels.
struct Free {
  void operator()(void *memory) const { ::operator delete(memory, std::align_val_t(64)); }
};
template <class T> std::unique_ptr<T[], Free> buffer(std::size_t bytes) {
  return std::unique_ptr<T[], Free>(static_cast<T *>(::operator new(bytes, std::align_val_t(64))));
}

// The library never throws. A program that wants exceptions throws them if the returned value has an error.
sett_tile_shape shape_of(std::string_view text) {
  sett_tile_shape shape = sett_tile_parse(text.data(), text.size());
  if (shape.error) throw std::invalid_argument(std::to_string(shape.column) + ": " + sett_tile_message(shape.error));
  return shape;
}

std::uint16_t bf16(float value) { // exact for the small integers below
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

int main() try {
  const sett_tile_shape shape = shape_of("bf16[96,300]{1,0:T(8,128)(2,1)}");
  const sett_tile_plan plan = sett_tile_prepare(&shape);

  auto x = buffer<std::uint16_t>(column_mean_param_bytes[0]);
  auto y = buffer<float>(column_mean_result_bytes[0]);
  for (std::int64_t row = 0; row < 96; ++row)
    for (std::int64_t column = 0; column < 300; ++column) {
      const std::int64_t index[] = {row, column};
      x[sett_tile_position(&plan, index)] = bf16(static_cast<float>(row % 2 * column % 128));
    }

  // Padding is not initialised, because a kernel never reads it as data.
  auto scratch = buffer<unsigned char>(column_mean_c_scratch_bytes());
  if (column_mean(x.get(), y.get(), scratch.get())) return 1;

  std::cout << sett_tile_bytes(&shape) << " bytes, the kernel expects " << column_mean_param_bytes[0] << '\n';
  std::cout << "means of columns 0, 1, 100: " << y[0] << ' ' << y[1] << ' ' << y[100] << '\n';
  try {
    shape_of("bf16[96,300]{1,0:T(8,)}");
  } catch (const std::invalid_argument &error) {
    std::cout << "a wrong layout: " << error.what() << '\n';
  }
} catch (const std::exception &error) {
  std::cerr << "error: " << error.what() << '\n';
  return 2;
}
