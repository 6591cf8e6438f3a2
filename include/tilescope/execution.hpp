// Terms for what happens while a kernel runs.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilescope {

/// The state space that an access goes to, after generic addresses have been resolved.
enum class MemorySpace : std::uint8_t { global, shared, local, constant, parameter };

/// "global", "shared", ...
std::string_view to_string(MemorySpace space);

/// Why a kernel ended its launch.
enum class TrapReason : std::uint8_t {
  trap,        ///< the instruction of that name, as __trap() gives it
  assertion,   ///< a failed assert()
  call_depth,  ///< calls nested too deep
  bad_free,    ///< free() of an address that malloc() did not give
};

}  // namespace tilescope
