// What operations share that move elements and do not look at them: reverse and transpose.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tilescope/array.hpp>

#include "operations/numerics/expected.hpp"
#include "operations/rung/operation.hpp"

namespace tilescope::operations {

/// Calls body(T{}) with the unsigned integer that has `bytes` bytes.
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

/// The answer that element i of the result is element from(i) of the input, to the last bit.
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

/// Every element read once and written once.
inline Work moving(const ConstArrayView& input) {
  return {.bytes = 2.0 * static_cast<double>(input.bytes()), .memory_bound = true};
}

}  // namespace tilescope::operations
