// What Hopper's bulk tensor copies need to know of a matrix in device memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tilescope/types.hpp"

namespace tilescope {

/// Which 16-byte chunks of a box change places in shared memory, so that rows and columns are both
/// read without bank conflicts: chunk c of row r goes to c xor (r mod 8) for `bytes_128`, whose
/// rows are 128 bytes.
enum class Swizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };

/// Up to three dimensions, innermost first. Elements outside the extents are read as zeros and
/// never written.
struct TensorMapRequest {
  std::uint64_t address = 0;  ///< device address, a multiple of 16
  DataType type = DataType::float32;
  std::array<std::uint64_t, 3> extents{1, 1, 1};  ///< elements
  std::array<std::uint64_t, 2> pitches{0, 0};  ///< bytes between rows, between planes; 16 divides
  std::array<std::uint32_t, 3> box{1, 1, 1};   ///< elements that one copy moves; at most 256 each
  Swizzle swizzle = Swizzle::none;
  /// The L2 cache fetches 256 bytes where 128 are asked for. It slows down what is read once.
  bool reads_ahead = true;
};

/// CUtensorMap, as a kernel takes it by value (`const __grid_constant__ CUtensorMap`).
struct alignas(64) TensorMap {
  std::array<std::byte, 128> bytes{};
};

}  // namespace tilescope
