// Cube maps: a direction to a face, and the neighbours of elements across a cube's edges.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace tilescope::emulator {

/// A place on a face; s and t run from 0 to 1. Faces: +x, -x, +y, -y, +z, -z.
struct CubePlace {
  unsigned face = 0;
  double s = 0, t = 0;
};
CubePlace cube_place(const std::array<float, 3>& direction);

struct CubeTexel {
  unsigned face = 0;
  std::int64_t x = 0, y = 0;
};
/// The element at x, y of a face, where one of the two lies one step outside: that of the face
/// across the edge. Nothing across a corner, where three faces meet.
std::optional<CubeTexel> across_edge(const CubeTexel& texel, std::int64_t extent);

}  // namespace tilescope::emulator
