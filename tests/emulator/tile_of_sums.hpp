// Random kernels with a tile of sums of products in each lane, as generators write it: loads of a
// step and products in some order, with new registers for sums, factors or both, or the same ones.
// Between them other operations read a sum or change a factor. NaNs are among the data.
#pragma once

#include <cstdint>
#include <string>

namespace tilescope::emulator::test {

/// The PTX of a kernel as random_kernel's.
std::string tile_of_sums(std::uint64_t seed);

}  // namespace tilescope::emulator::test
