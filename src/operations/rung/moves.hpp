// The common part of operations that move elements without reading their values: reverse and
// transpose.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tilescope/array.hpp>

#include "operations/numerics/expected.hpp"
#include "operations/rung/operation.hpp"

namespace tilescope::operations {

/// Calls body(T{}), T being the unsigned integer type of `bytes` bytes.
template <typename Body>
void with_bits(std::size_t bytes, const Body& body) {
  switch (bytes) {
    case 1:
      return body(std::uint8_t{});
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    default:
      return body(std::uint64_t{});
  }
}

/// The answer whose element i is exactly element from(i) of the input.
template <typename From>
std::unique_ptr<Expected> expect_moved(const ConstArrayView& input, const From& from) {
  return std::make_unique<ComputedExpected>(
      input.count, [=](std::size_t first, std::span<double> values, std::span<double> bounds) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          widen(input, from(first + i), values.subspan(i, 1));
          bounds[i] = 0.0;
        }
      });
}

/// The work of reading and writing every element once.
inline Work moving(const ConstArrayView& input) {
  return {.bytes = 2.0 * static_cast<double>(input.bytes()), .memory_bound = true};
}

}  // namespace tilescope::operations
