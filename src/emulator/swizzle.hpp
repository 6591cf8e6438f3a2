// How the copy engine and the tensor cores permute the 16-byte chunks of shared memory.
#pragma once

#include <cstdint>

namespace tilescope::emulator {

/// The address of a byte that an unswizzled layout puts at `address`. `chunks`: 16-byte chunks that
/// are permuted with each other, 2, 4 or 8 for swizzling by 32, 64 or 128 bytes; 1 leaves all in
/// place. The chunk's number is combined with the number of the 128-byte row, so that both rows and
/// columns of chunks are read without bank conflicts.
constexpr std::uint64_t swizzled(std::uint64_t address, unsigned chunks) {
  const std::uint64_t row = address / 128 % chunks;
  return address ^ row * 16;
}

}  // namespace tilescope::emulator
