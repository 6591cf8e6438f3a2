#include "operations/rung/kernel_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace tilescope::operations {

std::pair<std::string, std::string> define(std::string_view name, std::int64_t value) {
  return {std::string(name), fmt::format("{}", value)};
}

Step zero(Memory memory, std::size_t bytes) {
  return {.arguments = {memory}, .fill_bytes = bytes};
}

Divisor divisor_of(std::int64_t divisor) {
  // i / divisor is i * (power + less than the divisor) / divisor / power, as i is less than 2^31
  // and the divisor at most 2^shift.
  const auto by = static_cast<std::uint64_t>(divisor);
  const auto shift = static_cast<std::uint32_t>(std::bit_width(by - 1));
  const std::uint64_t power = std::uint64_t{1} << (31 + shift);
  return {.inverse = static_cast<std::uint32_t>((power + by - 1) / by), .shift = shift};
}

Launch flat_launch(std::int64_t blocks, int threads, std::size_t shared_bytes) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  return {.grid = {static_cast<std::uint32_t>(std::min(blocks, most))},
          .block = {static_cast<std::uint32_t>(threads)},
          .shared_bytes = shared_bytes};
}

void set_block_rows(Launch& launch, std::int64_t rows) {
  constexpr std::int64_t most = 65'535;  // blocks in y, on every GPU
  const std::int64_t layers = std::max<std::int64_t>(1, groups_of(rows, most));
  launch.grid.y = static_cast<std::uint32_t>(groups_of(rows, layers));
  launch.grid.z = static_cast<std::uint32_t>(layers);
}

std::string_view element_of_size(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned int";
    default:
      return "unsigned long long";
  }
}

}  // namespace tilescope::operations
