// The launches of a rung, as plain data: which kernels, with which constants, over which memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tilescope/device_properties.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace tilescope::operations {

/// Memory that a plan refers to before it has an address.
struct Memory {
  enum class Kind { input, output, scratch } kind = Kind::output;
  std::size_t index = 0;  ///< which input, or which scratch buffer

  static Memory input(std::size_t index = 0) { return {Kind::input, index}; }
  static Memory output() { return {Kind::output, 0}; }
  static Memory scratch(std::size_t index = 0) { return {Kind::scratch, index}; }
};

using Argument = std::variant<Memory, std::int32_t, std::int64_t, std::uint32_t, float, double>;
using Defines = std::vector<std::pair<std::string, std::string>>;

/// One launch; or, without a kernel's name, `fill_bytes` bytes of zero to the first argument.
struct Step {
  std::string kernel;
  Launch launch;
  std::vector<Argument> arguments;
  Defines defines;  ///< in addition to the plan's
  std::size_t fill_bytes = 0;
  std::string source;  ///< file below kernels/; empty: the variant's
};

/// The steps of one run, in order on one stream.
struct Plan {
  std::vector<Step> steps;
  Defines defines;
  /// Bytes of each scratch buffer. They are zero before the first run; before every other they hold
  /// what the last run left.
  std::vector<std::size_t> scratch;
};

/// NAME=value for a number.
std::pair<std::string, std::string> define(std::string_view name, std::int64_t value);

/// A step that zeroes `bytes` bytes.
Step zero(Memory memory, std::size_t bytes);

/// The number of groups of `size` for `count` elements.
constexpr std::int64_t groups_of(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

/// A divisor for kernels that divide by it through common/divisor.cuh.
struct Divisor {
  std::uint32_t inverse, shift;
};
/// `divisor`: from 1 to 2^31.
Divisor divisor_of(std::int64_t divisor);

/// A launch of `blocks` blocks of `threads` threads in x. Blocks beyond the range of a grid stay
/// beyond it, so that the launch is refused with the limit's name, not wrapped around.
Launch flat_launch(std::int64_t blocks, int threads, std::size_t shared_bytes = 0);

/// Gives the grid `rows` rows of blocks, for kernels that find their row through common/rows.cuh.
void set_block_rows(Launch& launch, std::int64_t rows);

/// ELEMENT for a kernel that only moves elements of `bytes` bytes.
std::string_view element_of_size(std::size_t bytes);

}  // namespace tilescope::operations
