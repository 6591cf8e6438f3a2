// Constants in PTX's notation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/instruction.hpp"

namespace tilescope::ptx {

struct Number {
  Literal literal = Literal::integer;
  bool is_unsigned = false;  ///< a U suffix, or too large for a signed value
  std::uint64_t bits = 0;

  friend bool operator==(const Number&, const Number&) = default;
};

/// 42, 0x2A, 052, 0b101010, each with or without U; 0f3F800000; 0d3FF0000000000000; 1.5, 1e-3.
/// Nothing when `text` is none of these or does not fit in 64 bits.
std::optional<Number> parse_number(std::string_view text);

}  // namespace tilescope::ptx
