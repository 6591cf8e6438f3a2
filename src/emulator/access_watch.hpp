// The part of compiled code (compiled_code.hpp) that serves observers of memory accesses.
#pragma once

#include <cstdint>

namespace tilescope::emulator {

enum class AccessWatch : std::uint8_t {
  nothing,
  sums,  ///< it adds them up for observers (access_sum.hpp)
  each,  ///< it announces each (known_access.hpp)
};

}  // namespace tilescope::emulator
