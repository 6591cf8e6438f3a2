// Binary units of memory.
#pragma once

#include <cstddef>

namespace tilescope {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

}  // namespace tilescope
