// Surfaces: elements of an image by whole coordinates, to read and to write.
#pragma once

#include <array>

#include "emulator/textures/image.hpp"

namespace tilescope::emulator {

/// The treatment of coordinates outside the surface: a fault, the nearest place, or nothing there.
enum class SurfaceBounds : std::uint8_t { trap, clamp, zero };

/// A place in a surface: x in bytes, or in elements for formatted accesses.
struct SurfacePoint {
  std::array<std::int32_t, 3> at{};
  std::uint32_t layer = 0;
};

struct SurfacePlace {
  bool inside = false;
  std::uint64_t offset = 0;  ///< from the image's first byte
};

/// Finds `bytes` bytes at the point. A clamped one is always inside.
SurfacePlace surface_place(const Image& image, const SurfacePoint& point, unsigned bytes,
                           bool x_in_elements, SurfaceBounds bounds);

}  // namespace tilescope::emulator
