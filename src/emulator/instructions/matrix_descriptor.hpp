// The descriptors by which wgmma finds a tile in shared memory.
//
// A tile consists of pieces of 16 bytes: neighbours along k (K-major), or neighbouring rows of A or
// columns of B (MN-major). Eight pieces make a core matrix. The descriptor says where the first one
// begins, how far apart they are in both directions, and how pieces are swizzled.
#pragma once

#include <cstdint>

namespace tilescope::emulator {

struct MatrixDescriptor {
  std::uint32_t start;  ///< bytes, as the following two
  std::uint32_t leading, stride;
  std::uint32_t base_offset;  ///< row of 128 bytes in the pattern at which the tile's begins
  std::uint32_t span;         ///< bytes within which pieces are swizzled; 16: they are not

  explicit MatrixDescriptor(std::uint64_t bits);

  /// The address of piece `k` (of 16 bytes) of row or column `mn`, for K-major tiles.
  std::uint32_t k_major(std::uint32_t mn, std::uint32_t k) const;
  /// The address of the 16 bytes with rows or columns 8 `group` to 8 `group` + 7 of one k.
  std::uint32_t mn_major(std::uint32_t group, std::uint32_t k) const;

 private:
  std::uint32_t place(std::uint32_t offset) const;
};

}  // namespace tilescope::emulator
