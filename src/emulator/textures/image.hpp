// The memory of a texture or surface as rows of elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tilescope/texture.hpp>
#include <vector>

namespace tilescope::emulator {

/// One level. A cube's faces and a layered image's layers are slices.
struct ImageLevel {
  std::uint64_t address = 0;           ///< on the device
  const std::uint8_t* data = nullptr;  ///< the same bytes on the host
  std::uint32_t width = 1, height = 1, depth = 1;
  std::uint64_t pitch = 0, slice_pitch = 0;

  std::uint64_t offset(std::uint64_t element_bytes, std::int64_t x, std::int64_t y,
                       std::int64_t z) const {
    return static_cast<std::uint64_t>(z) * slice_pitch + static_cast<std::uint64_t>(y) * pitch +
           static_cast<std::uint64_t>(x) * element_bytes;
  }
};

struct Image {
  TexelFormat format;
  unsigned dimensions = 1;  ///< of one layer or face
  bool layered = false;
  bool cube = false;
  bool linear = false;  ///< plain memory, one row that is read by whole coordinates
  bool tiled = false;   ///< an array, whose order on a chip keeps neighbours of both axes together
  std::uint32_t layers = 1;
  std::vector<ImageLevel> levels;

  std::uint64_t bytes() const {
    const ImageLevel& last = levels.back();
    return last.address - levels.front().address + last.slice_pitch * last.depth;
  }
};

/// Four channels: the bits of floats, or integers extended to 32 bits.
struct Texel {
  std::array<std::uint32_t, 4> bits{};
};

/// The image of an array whose levels follow each other in memory.
Image image_of(const ArrayRequest& array);
/// Sets the addresses of all levels of an image at `address` (`data` on the host).
void place(Image& image, std::uint64_t address, const std::uint8_t* data);

}  // namespace tilescope::emulator
