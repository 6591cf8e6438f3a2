// Descriptions of matrices in device memory for Hopper's bulk tensor copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tilescope/types.hpp"

namespace tilescope {

/// The swizzle of a box's 16-byte chunks in shared memory, with which both rows and columns are
/// read without bank conflicts: chunk c of row r goes to c xor (r mod 8) for `bytes_128`, whose
/// rows are 128 bytes.
enum class Swizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };

/// Up to three dimensions, innermost first. Elements outside the extents are read as zeros and
/// never written.
struct TensorMapRequest {
  std::uint64_t address = 0;  ///< device address, a multiple of 16
  DataType type = DataType::float32;
  std::array<std::uint64_t, 3> extents{1, 1, 1};  ///< elements
  std::array<std::uint64_t, 2> pitches{0, 0};  ///< bytes between rows, between planes; multiples of
                                               ///< 16
  std::array<std::uint32_t, 3> box{1, 1, 1};   ///< elements that one copy moves; at most 256 each
  Swizzle swizzle = Swizzle::none;
};

/// CUtensorMap, which a kernel takes by value (`const __grid_constant__ CUtensorMap`).
struct alignas(64) TensorMap {
  std::array<std::byte, 128> bytes{};
};

}  // namespace tilescope
