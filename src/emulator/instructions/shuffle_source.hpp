// The lane from which a shuffle takes its value.
#pragma once

#include <cstdint>

#include "ptx/modifiers.hpp"

namespace tilescope::emulator {

struct ShuffleSource {
  int lane;     ///< the lane itself where the source is out of range
  bool inside;  ///< the source is in range
};

/// `by`: operand b, a lane or a distance; `control`: operand c, the clamp and the segment mask.
inline ShuffleSource shuffle_source(ptx::ShuffleMode mode, int lane, std::uint32_t by,
                                    std::uint32_t control) {
  const int b = static_cast<int>(by & 31);
  const int clamp = static_cast<int>(control & 31);
  const int segment = static_cast<int>(control >> 8 & 31);
  const int last = (lane & segment) | (clamp & ~segment);
  int from = lane;
  bool inside = false;
  switch (mode) {
    case ptx::ShuffleMode::up:
      from = lane - b;
      inside = from >= last;  // for up, the clamp is the lowest lane
      break;
    case ptx::ShuffleMode::down:
      from = lane + b;
      inside = from <= last;
      break;
    case ptx::ShuffleMode::bfly:
      from = lane ^ b;
      inside = from <= last;
      break;
    default:
      from = (lane & segment) | (b & ~segment);
      inside = from <= last;
      break;
  }
  return {inside ? from : lane, inside};
}

}  // namespace tilescope::emulator
