#include "emulator/textures/surfaces.hpp"

namespace tilescope::emulator {

SurfacePlace surface_place(const Image& image, const SurfacePoint& point, unsigned bytes,
                           bool x_in_elements, SurfaceBounds bounds) {
  const ImageLevel& level = image.levels.front();
  const auto element = static_cast<std::int64_t>(image.format.bytes());
  const std::int64_t row_bytes = level.width * element;
  std::array<std::int64_t, 3> at = {point.at[0], 0, 0};
  std::array<std::int64_t, 3> extent = {row_bytes - bytes + 1, 1, 1};
  if (x_in_elements) at[0] *= element;
  const bool volume = image.dimensions == 3 || image.layered || image.cube;
  if (image.dimensions >= 2) {
    at[1] = point.at[1];
    extent[1] = level.height;
  }
  if (volume) {
    at[2] = image.dimensions == 3 ? point.at[2] : std::int64_t{point.layer};
    extent[2] = level.depth;
  }
  SurfacePlace place{.inside = row_bytes >= bytes};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (at[axis] >= 0 && at[axis] < extent[axis]) continue;
    if (bounds != SurfaceBounds::clamp) return {};
    at[axis] = std::clamp<std::int64_t>(at[axis], 0, std::max<std::int64_t>(extent[axis] - 1, 0));
  }
  place.offset = level.offset(1, at[0], at[1], at[2]);
  return place;
}

}  // namespace tilescope::emulator
