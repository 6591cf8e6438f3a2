// The NaNs that the chip's arithmetic gives, as lanes/real_values.hpp has them.
#pragma once

#include <cstdint>

namespace tilescope::emulator::compiled {

inline constexpr std::uint32_t kNan32 = 0x7fffffffu;
inline constexpr std::uint64_t kNan64 = 0xfff8000000000000u;

}  // namespace tilescope::emulator::compiled
