// Random kernels for comparing two ways of running them.
#pragma once

#include <cstdint>
#include <string>

namespace tilescope::emulator::test {

/// The PTX of a kernel `k(.u64 data, .u64 results)`. `data` has kRandomDataBytes; each thread
/// writes kRandomResultBytes at `results`. The same seed gives the same text.
std::string random_kernel(std::uint64_t seed);

inline constexpr std::uint32_t kRandomDataBytes = 16384;
inline constexpr std::uint32_t kRandomResultBytes = 256;

}  // namespace tilescope::emulator::test
