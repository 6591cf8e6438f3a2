// Terms for events while a kernel runs.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilescope {

/// The state space of an access, after generic addresses have been resolved.
enum class MemorySpace : std::uint8_t { global, shared, local, constant, parameter };

/// "global", "shared", ...
std::string_view to_string(MemorySpace space);

/// The reason why a kernel ended its launch.
enum class TrapReason : std::uint8_t {
  trap,        ///< the instruction of that name, which __trap() makes
  assertion,   ///< a failed assert()
  call_depth,  ///< calls nested too deep
  bad_free,    ///< free() of an address that malloc() did not return
};

}  // namespace tilescope
