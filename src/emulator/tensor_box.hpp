// From a tensor map and coordinates to the bytes that one tensor copy moves.
//
// The manual leaves some cases open; bench/tensor_copy_recorder.cu found on an H200: with
// swizzling the rows of a box lie a whole span apart, even if they are shorter; a store writes the
// last 16 bytes of a tensor's row as a whole; an interleaved tensor counts in units of 16 or 32
// bytes, and its last dimension but one is the slice of channels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emulator/bulk_events.hpp"
#include "emulator/tensor_map_image.hpp"

namespace tilescope::emulator {

struct TensorBox {
  const TensorMapImage& map;  ///< one without a problem
  std::array<std::int32_t, kMostTensorDimensions> coordinates{};
  std::array<std::uint16_t, 3> offsets{};  ///< im2col: of the pixels
  std::uint32_t shared = 0;                ///< offset of the box in shared memory
};

/// The pieces of a load: `from` are device addresses, `to` offsets in shared memory. Elements
/// outside the tensor are pieces that are filled.
std::vector<BulkPiece> load_pieces(const TensorBox& box);
/// Those of a store. Elements outside the tensor are left out.
std::vector<BulkPiece> store_pieces(const TensorBox& box);

}  // namespace tilescope::emulator
