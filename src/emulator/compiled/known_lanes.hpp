// The result of an integer operation in each lane, where all of its operands are known when the
// code is compiled: the same as the interpreter's executors give.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "emulator/compiled/known_operation.hpp"

namespace tilescope::emulator::compiled {

/// The value of each lane, zero-extended; of a predicate 0 or 1.
using LaneValues = std::array<std::uint64_t, 32>;

/// Nothing: it is not an operation of integers or predicates that is known here. `bytes`: a lane's
/// of the result, 0 of a predicate; `uniform`: all lanes of each operand are equal.
std::optional<LaneValues> known_result(const Operation& operation, std::span<const LaneValues> in,
                                       unsigned bytes, bool uniform);

}  // namespace tilescope::emulator::compiled
